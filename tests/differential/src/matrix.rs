//! Every Blackwell target's objects linked for every such target: which pairs
//! are accepted, and the bytes of those.

use crate::program::{Case, HostRefs, Link, Module, Pack, Sm};
use crate::release::Release;
use crate::tools::Tools;
use std::collections::BTreeMap;

const NUMBERS: [u16; 6] = [100, 103, 107, 110, 120, 121];
const SUFFIXES: [Option<char>; 3] = [None, Some('a'), Some('f')];

/// A kernel that calls a function of the other module, and one that does not.
const KERNELS: &str = "\
.extern .func (.param .b32 r0) f (.param .b32 p0);
.visible .entry k (.param .u64 out)
{
	.reg .b64 %a; .reg .b32 %v<4>;
	ld.param.u64 %a, [out];
	ld.volatile.u32 %v0, [%a];
	{ .param .b32 q0; .param .b32 q1; st.param.b32 [q0], %v0; call (q1), f, (q0); ld.param.b32 %v0, [q1]; }
	st.u32 [%a], %v0;
	ret;
}
.visible .entry plain (.param .u64 out)
{
	.reg .b64 %a; .reg .b32 %v<4>;
	ld.param.u64 %a, [out];
	ld.volatile.u32 %v0, [%a];
	mad.lo.u32 %v0, %v0, 3, 1;
	st.u32 [%a], %v0;
	ret;
}
";
const FUNCTION: &str = "\
.const .align 4 .u32 c = 7;
.visible .func (.param .b32 r0) f (.param .b32 p0)
{
	.reg .b32 %v<4>;
	ld.param.b32 %v0, [p0];
	ld.const.u32 %v1, [c];
	add.u32 %v0, %v0, %v1;
	st.param.b32 [r0], %v0;
	ret;
}
";

/// All targets that a linker and compilers of these releases know.
fn targets(releases: &[Release]) -> Vec<Sm> {
    let suffixed = |number| SUFFIXES.map(|suffix| Sm { number, suffix });
    let known = |sm: &Sm| releases.iter().all(|&release| sm.since().contains(release));
    NUMBERS.into_iter().flat_map(suffixed).filter(known).collect()
}

/// One case per target of the objects, with a link for every target, of bare
/// files and of containers.
pub fn cases(tools: &Tools) -> Vec<Case> {
    let linked = targets(&[tools.release]);
    let compiled = targets(&[tools.release, tools.compiled_by()]);
    compiled.into_iter().map(|sm| case(sm, &linked)).collect()
}

fn case(objects: Sm, linked: &[Sm]) -> Case {
    let module = |name: &str, text: &str, pack: Pack| Module {
        name: name.into(),
        ptx: format!(
            ".version {}\n.target {objects}\n.address_size 64\n{text}",
            objects.ptx_version()
        ),
        flags: Vec::new(),
        compiler: Default::default(),
        sm: objects,
        form: Default::default(),
        pack,
    };
    let refs = HostRefs { kernels: vec!["k".into(), "plain".into()], ..HostRefs::default() };
    let modules = vec![
        module("kernels", KERNELS, Pack::Cubin),
        module("function", FUNCTION, Pack::Cubin),
        module("host", KERNELS, Pack::Object(refs)),
        module("packed", FUNCTION, Pack::Fatbin),
    ];
    let mut links = Vec::new();
    for &sm in linked {
        links.push(link(format!("cubin-{sm}"), sm, &["kernels.cubin", "function.cubin"]));
        links.push(link(format!("object-{sm}"), sm, &["host.o", "packed.fatbin"]));
    }
    Case {
        name: format!("matrix-{objects}"),
        sm: objects,
        modules,
        files: Vec::new(),
        contents: Vec::new(),
        links,
        features: BTreeMap::new(),
        conflict: None,
    }
}

fn link(label: String, sm: Sm, inputs: &[&str]) -> Link {
    Link {
        output: format!("{label}.cubin"),
        label,
        sm,
        inputs: inputs.iter().map(|&name| name.into()).collect(),
        args: Vec::new(),
        expected: None,
        side_file: None,
    }
}
