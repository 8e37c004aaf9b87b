//! Deliberate mistakes, so that refusals are compared as well.

use super::plan::Plan;
use crate::rng::Rng;

/// A mistake: its name and the text it adds to two different modules (the
/// first text to the earlier one). One module is enough if one is empty.
type Mistake = (&'static str, &'static str, &'static str);

const BIG_FUNCTION: &str = "\
.visible .func (.param .b32 r0) hungry (.param .b64 p0)
{
\t.reg .b64 %a; .reg .b32 %v<64>;
\tld.param.b64 %a, [p0];
\tld.volatile.v4.u32 {%v0, %v1, %v2, %v3}, [%a];
\tld.volatile.v4.u32 {%v4, %v5, %v6, %v7}, [%a+16];
\tld.volatile.v4.u32 {%v8, %v9, %v10, %v11}, [%a+32];
\tld.volatile.v4.u32 {%v12, %v13, %v14, %v15}, [%a+48];
\tld.volatile.v4.u32 {%v16, %v17, %v18, %v19}, [%a+64];
\tld.volatile.v4.u32 {%v20, %v21, %v22, %v23}, [%a+80];
\tld.volatile.v4.u32 {%v24, %v25, %v26, %v27}, [%a+96];
\tst.volatile.v4.u32 [%a], {%v27, %v26, %v25, %v24};
\tst.volatile.v4.u32 [%a], {%v23, %v22, %v21, %v20};
\tst.volatile.v4.u32 [%a], {%v19, %v18, %v17, %v16};
\tst.volatile.v4.u32 [%a], {%v15, %v14, %v13, %v12};
\tst.volatile.v4.u32 [%a], {%v11, %v10, %v9, %v8};
\tst.volatile.v4.u32 [%a], {%v7, %v6, %v5, %v4};
\tst.volatile.v4.u32 [%a], {%v3, %v2, %v1, %v0};
\tst.param.b32 [r0], %v0;
\tret;
}
";

const BOUND_KERNEL: &str = "\
.extern .func (.param .b32 r0) hungry (.param .b64 p0);
.visible .entry bounded (.param .u64 out) .maxnreg 24
{
\t.reg .b64 %a; .reg .b32 %v;
\tld.param.u64 %a, [out];
\t{ .param .b64 q0; .param .b32 q1; st.param.b64 [q0], %a; call (q1), hungry, (q0); ld.param.b32 %v, [q1]; }
\tst.u32 [%a], %v;
\tret;
}
";

const MISTAKES: &[Mistake] = &[
    (
        "duplicate-function",
        ".visible .func dupf ()\n{\n\tret;\n}\n",
        ".visible .func dupf ()\n{\n\tret;\n}\n",
    ),
    (
        "duplicate-kernel",
        ".visible .entry dupk ()\n{\n\tret;\n}\n",
        ".visible .entry dupk ()\n{\n\tret;\n}\n",
    ),
    (
        "duplicate-variable",
        ".visible .global .u32 dupv = 1;\n",
        ".visible .global .u32 dupv = 2;\n",
    ),
    ("duplicate-zero-variable", ".visible .global .u32 dupv;\n", ".visible .global .u32 dupv;\n"),
    (
        "missing-function",
        ".extern .func nowhere ();\n.visible .entry lost ()\n{\n\tcall nowhere;\n\tret;\n}\n",
        "",
    ),
    (
        "missing-function-in-dead-code",
        ".extern .func nowhere ();\n.visible .func lost ()\n{\n\tcall nowhere;\n\tret;\n}\n",
        "",
    ),
    (
        "missing-variable",
        ".extern .global .u32 nowhere;\n.visible .entry lost ()\n{\n\tst.global.u32 [nowhere], 1;\n\tret;\n}\n",
        "",
    ),
    (
        "missing-variable-in-dead-code",
        ".extern .global .u32 nowhere;\n.visible .func lost ()\n{\n\tst.global.u32 [nowhere], 1;\n\tret;\n}\n",
        "",
    ),
    (
        "missing-constant",
        ".extern .const .u32 nowhere;\n.visible .entry lost ()\n{\n\t.reg .b32 %r;\n\tld.const.u32 %r, [nowhere];\n\tst.volatile.shared.u32 [%r], %r;\n\tret;\n}\n",
        "",
    ),
    (
        "size-conflict",
        ".visible .global .align 4 .b8 sized[8];\n",
        ".extern .global .align 4 .b8 sized[16];\n.visible .entry sizer ()\n{\n\tst.global.u32 [sized], 1;\n\tret;\n}\n",
    ),
    (
        "weak-size-conflict",
        ".weak .global .align 4 .b8 sized[8];\n",
        ".weak .global .align 4 .b8 sized[16];\n",
    ),
    (
        "space-conflict",
        ".visible .const .align 4 .u32 spaced = 5;\n",
        ".extern .global .align 4 .u32 spaced;\n.visible .entry spacer ()\n{\n\tst.global.u32 [spaced], 1;\n\tret;\n}\n",
    ),
    (
        "function-then-variable",
        ".visible .func odd ()\n{\n\tret;\n}\n",
        ".extern .global .align 4 .u32 odd;\n.visible .entry oddk ()\n{\n\tst.global.u32 [odd], 1;\n\tret;\n}\n",
    ),
    (
        "kernel-or-function",
        ".visible .entry both ()\n{\n\tret;\n}\n",
        ".weak .func both ()\n{\n\tret;\n}\n",
    ),
    (
        "function-or-kernel",
        ".extern .func both ();\n.visible .entry bothk ()\n{\n\tcall both;\n\tret;\n}\n",
        ".visible .entry both ()\n{\n\tret;\n}\n",
    ),
    (
        "prototype-conflict",
        ".visible .func (.param .b32 r0) shaped (.param .b32 p0)\n{\n\tst.param.b32 [r0], 4;\n\tret;\n}\n",
        ".extern .func shaped (.param .b64 p0);\n.visible .entry shaper ()\n{\n\t{ .param .b64 q0; st.param.b64 [q0], 1; call shaped, (q0); }\n\tret;\n}\n",
    ),
    (
        "managed-conflict",
        ".visible .global .attribute(.managed) .align 4 .u32 mv = 5;\n",
        ".extern .global .align 4 .u32 mv;\n.visible .entry mk ()\n{\n\tst.global.u32 [mv], 1;\n\tret;\n}\n",
    ),
    (
        "common-larger-than-definition",
        ".common .global .align 4 .b8 cmn[16];\n",
        ".visible .global .align 4 .b8 cmn[8] = {1, 2};\n",
    ),
    (
        "common-and-definition",
        ".common .global .align 4 .b8 cmn[16];\n",
        ".visible .global .align 4 .b8 cmn[16] = {1, 2};\n",
    ),
    (
        "commons-of-two-sizes",
        ".common .global .align 4 .b8 cmn[16];\n",
        ".common .global .align 8 .b8 cmn[40];\n",
    ),
    ("register-bound", BIG_FUNCTION, BOUND_KERNEL),
    (
        "too-much-shared",
        ".shared .align 4 .b8 huge0[30000];\n.visible .func sheep ()\n{\n\tst.shared.u32 [huge0+8], 1;\n\tret;\n}\n\
         .shared .align 4 .b8 huge1[30000];\n.visible .entry shk ()\n{\n\tst.shared.u32 [huge1+8], 1;\n\tcall sheep;\n\tret;\n}\n",
        "",
    ),
    (
        "too-much-constant",
        ".visible .const .align 4 .b8 lots0[40000];\n",
        ".visible .const .align 4 .b8 lots1[40000];\n",
    ),
    (
        "weak-kernels-of-two-shapes",
        ".weak .entry shapek (.param .u64 a)\n{\n\tret;\n}\n",
        ".weak .entry shapek (.param .u64 a, .param .u64 b)\n{\n\tret;\n}\n",
    ),
];

/// In some programs, adds one mistake and returns its name.
pub fn inject(rng: &mut Rng, plan: &mut Plan) -> Option<&'static str> {
    if !rng.chance(8) {
        return None;
    }
    let &(name, first, second) = rng.pick(MISTAKES);
    let mut homes: Vec<usize> = (0..plan.modules.len()).collect();
    if !second.is_empty() && homes.len() < 2 {
        return None;
    }
    rng.shuffle(&mut homes);
    plan.extra.push((homes[0], first.to_owned()));
    if !second.is_empty() {
        plan.extra.push((homes[1], second.to_owned()));
    }
    Some(name)
}
