//! Conditions that only the finished call graph can decide.

use crate::context::Analysis;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ids::SymbolRefId;
use crate::object::MergeClass;
use crate::object::symbols::{InputSymbol, Place};
use crate::resolve::Role;
use cubin::{Attr, SectionRef, info};
use rayon::prelude::*;

/// `--disable-smem-reservation`: code that needs the reserved shared memory, including dead code
/// but not discarded copies (fourteen links of kernels, functions and weak copies).
pub fn reserved_memory(cx: Analysis<'_, '_>, diags: &mut Diagnostics) {
    if !cx.config.disable_smem_reservation {
        return;
    }
    let uses = |section: &SectionRef<'_>| {
        let records = info::records(section.data);
        records.flatten().any(|r| r.attr() == Attr::RESERVED_SMEM_USED)
    };
    for (id, object) in cx.objects.enumerated() {
        for (section, class) in object.of_class(|c| matches!(c, MergeClass::Info(_))) {
            let MergeClass::Info(symbol) = class else { continue };
            let at = SymbolRefId { object: id, symbol };
            let id = cx.resolution.id(at.object, symbol);
            let selected = id.filter(|&id| cx.resolution.role(id, at, true) == Role::Selected);
            if let Some(id) = selected.filter(|_| uses(&section)) {
                let name = text(cx.resolution.get(id).name);
                let message =
                    format!("Function '{name}' uses reserved shared memory when not allowed.");
                let mut error = Diagnostic::error(Code::ReservedShared, message).about(name);
                if !cx.keeps(id) {
                    error = error.note("nothing calls it, but nvlink refuses it all the same");
                }
                diags.push(error);
            }
        }
    }
}

/// `--link-as-tools-patch`: all functions must have been compiled for it. The first one that was
/// not ends the link, by the order of inputs and of their symbols. [`tools-patch`]
pub fn tools_patch(cx: Analysis<'_, '_>) -> Result<(), Box<Diagnostic>> {
    if !cx.config.tools_patch {
        return Ok(());
    }
    let is_marked = |section: &SectionRef<'_>| {
        let records = info::records(section.data);
        records.flatten().any(|r| r.attr() == Attr::TOOLS_PATCH_FUNC)
    };
    for object in cx.objects.iter() {
        let info = |symbol: u32| object.first_of(MergeClass::Info(symbol));
        let is_plain = |f: &&InputSymbol| {
            f.place != Place::Undefined && !info(f.symbol).is_some_and(|s| is_marked(&s))
        };
        if let Some(function) = object.functions.iter().find(is_plain) {
            let name = text(object.name_of(function));
            let (file, option) = (object.name, cx.dialect.release().tools_patch_option);
            let message = format!(
                "Function '{name}' in '{file}' is missing EIATTR_TOOLS_PATCH_FUNC attribute \
                 required by {option} option"
            );
            return Err(Box::new(Diagnostic::fatal(Code::NotToolsPatch, message).about(name)));
        }
    }
    Ok(())
}

/// nvlink cannot remove an alias without its function. [`alias`, `alias-dead`]
pub fn aliases(cx: Analysis<'_, '_>, diags: &mut Diagnostics) {
    let functions = cx.graph.functions.par_iter().with_min_len(FUNCTIONS_AT_ONCE);
    let dead = functions.copied().filter(|&id| !cx.keeps(id));
    let in_use = dead.filter_map(|id| {
        let behind = cx.owner_of_code(id).filter(|&behind| behind != id)?;
        cx.keeps(behind).then_some((id, behind))
    });
    for (id, behind) in in_use.collect::<Vec<_>>() {
        let [alias, function] = [id, behind].map(|id| text(cx.resolution.get(id).name));
        let message = "Internal error: reference to deleted symbol";
        diags.push(Diagnostic::fatal(Code::DeadAlias, message).about(alias.clone()).note(
            format_args!("'{alias}' is another name of '{function}', and only that is in use"),
        ));
    }
}

/// Fewer are not worth another thread.
const FUNCTIONS_AT_ONCE: usize = 1 << 11;

/// `--extra-warnings`: functions whose address is taken though no indirect call has their
/// prototype.
pub fn uncalled(cx: Analysis<'_, '_>, diags: &mut Diagnostics) {
    let config = cx.config;
    if !config.extra_warnings || config.relocatable || config.debug {
        return;
    }
    let mut called = vec![false; cx.graph.prototypes.len()];
    for (_, prototype) in &cx.graph.indirect {
        if let Some(slot) = called.get_mut(prototype.index()) {
            *slot = true;
        }
    }
    for (function, prototype) in cx.graph.address_taken.enumerated() {
        let Some(prototype) = prototype.get() else { continue };
        let symbol = cx.resolution.get(cx.graph.symbol(function));
        if symbol.entry || called.get(prototype.index()) == Some(&true) {
            continue;
        }
        let name = text(symbol.name);
        diags.push(
            Diagnostic::warning(
                Code::NeverCalled,
                format_args!("Function '{name}' has address taken but no calls to it found"),
            )
            .about(name.clone()),
        );
    }
}
