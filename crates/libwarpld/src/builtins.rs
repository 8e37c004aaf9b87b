//! Functions that need no definition at link time: the driver provides them
//! when it loads the image.

/// Every name that starts so is the driver's.
const PREFIX: &[u8] = b"__cuda_syscall";

/// Whether an undefined function of this name is no error. A definition in
/// the link still takes precedence. Variables of these names are ordinary.
/// [`device-runtime`, `own-malloc`]
pub fn is_builtin_function(name: &[u8]) -> bool {
    // Found by linking calls to some 1700 candidate names and noting which were not
    // reported as undefined.
    let listed = matches!(
        name,
        b"vprintf"
            | b"vfprintf"
            | b"malloc"
            | b"free"
            | b"__assertfail"
            | b"__profile"
            | b"cudaGraphLaunch"
            | b"cudaGraphSetConditional"
            | b"cudaGraphKernelNodeSetParam"
            | b"cudaGraphKernelNodeSetEnabled"
            | b"cudaGraphKernelNodeSetGridDim"
            | b"cudaGraphKernelNodeUpdatesApply"
            | b"cnpGetLastError"
            | b"cnpSetLastError"
            | b"cnpGetLimit"
            | b"cnpGetSharedMemConfig"
            | b"cnpGetCacheConfig"
            | b"cnpGetDevice"
            | b"cnpGetDeviceCount"
            | b"cnpDeviceGetAttribute"
            | b"cnpFuncGetAttribute"
            | b"cnpLaunchDevice"
            | b"cnpLaunchDeviceV2"
            | b"cnpGetParameterBuffer"
            | b"cnpGetParameterBufferV2"
            | b"cnpStreamCreate"
            | b"cnpStreamDestroy"
            | b"cnpStreamWaitEvent"
            | b"cnpEventCreate"
            | b"cnpEventDestroy"
            | b"cnpEventRecord"
            | b"cnpCtxSynchronize"
    );
    listed || name.starts_with(PREFIX)
}
