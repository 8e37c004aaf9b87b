//! Which functions are still missing: decides whether libcudadevrt.a, or a
//! member of a lazily searched archive, takes part in the link.

use crate::builtins::is_builtin_function;
use crate::collections::Set;
use crate::inputs::LinkInput;
use cubin::{Binding, Cubin, SymbolRef, SymbolType};
use rayon::prelude::*;
use std::sync::Arc;

type Names<'a> = Set<&'a [u8]>;

/// Whether some function is undefined in `images` taken together. This pulls
/// in the system library whatever the function's name, even if only dead code
/// calls it; missing variables and the driver's own functions do not.
pub fn function_is_missing(images: &[LinkInput<'_>]) -> bool {
    let cubins: Vec<Arc<Cubin<'_>>> =
        images.par_iter().filter_map(|input| input.cubin().ok()).collect();
    let undefined: Vec<Vec<&[u8]>> =
        cubins.par_iter().map(|cubin| names(cubin, is_missing_function)).collect();
    let missing: Names<'_> = undefined.into_iter().flatten().collect();
    // Every name is asked for in parallel, and the few that matter are counted.
    let provided: Vec<Vec<&[u8]>> = cubins
        .par_iter()
        .map(|cubin| {
            let mut names = names(cubin, is_definition);
            names.retain(|name| missing.contains(name));
            names
        })
        .collect();
    let provided: Names<'_> = provided.into_iter().flatten().collect();
    provided.len() < missing.len()
}

/// Of the images of an archive, those that define something `taken` or other
/// wanted ones lack: members are pulled as a host linker would, repeatedly
/// until nothing changes.
pub fn wanted_members(taken: &[LinkInput<'_>], members: &[LinkInput<'_>]) -> Vec<bool> {
    let mut defined = Names::default();
    let mut missing = Names::default();
    for cubin in taken.iter().filter_map(|input| input.cubin().ok()) {
        account(&cubin, &mut defined, &mut missing);
    }
    let members: Vec<_> = members.iter().map(|input| input.cubin().ok()).collect();
    let mut wanted = vec![false; members.len()];
    loop {
        let mut changed = false;
        for (member, wanted) in members.iter().zip(&mut wanted) {
            let Some(member) = member else { continue };
            let fills = || member.symbols().filter(is_definition).any(|s| missing.contains(s.name));
            if !*wanted && fills() {
                *wanted = true;
                changed = true;
                account(member, &mut defined, &mut missing);
            }
        }
        if !changed {
            return wanted;
        }
    }
}

fn account<'a>(cubin: &Cubin<'a>, defined: &mut Names<'a>, missing: &mut Names<'a>) {
    for symbol in cubin.symbols() {
        if is_definition(&symbol) {
            defined.insert(symbol.name);
            missing.remove(symbol.name);
        } else if is_missing(&symbol) && !defined.contains(symbol.name) {
            missing.insert(symbol.name);
        }
    }
}

fn names<'a>(cubin: &Cubin<'a>, want: fn(&SymbolRef<'_>) -> bool) -> Vec<&'a [u8]> {
    cubin.symbols().filter(want).map(|s| s.name).collect()
}

fn is_definition(symbol: &SymbolRef<'_>) -> bool {
    !symbol.is_undefined() && symbol.binding() != Binding::LOCAL
}

fn is_missing(symbol: &SymbolRef<'_>) -> bool {
    symbol.is_undefined()
        && symbol.index.0 != 0
        && symbol.binding() != Binding::LOCAL
        && symbol.binding() != Binding::WEAK
        && !is_builtin_function(symbol.name)
}

fn is_missing_function(symbol: &SymbolRef<'_>) -> bool {
    symbol.kind() == SymbolType::FUNC && is_missing(symbol)
}
