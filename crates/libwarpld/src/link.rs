//! The driver: one call per phase, in order.

use crate::callgraph::reach;
use crate::config::Config;
use crate::context::Analysis;
use crate::diag::{Diagnostic, Diagnostics, Error};
use crate::dialect::{Dialect, Half};
use crate::inputs::Inputs;
use crate::linked::Linked;
use crate::merge;
use crate::parse::{self, Read};
use crate::report::{self, LinkMap, LinkReport};
use crate::stopwatch::{Lap, Stopwatch};
use crate::write::{self, Destination, classic};
use crate::{
    checks, compat, explain, layout, mercury, properties, relocate, undefined, unified, usage,
};

/// The result of a link whose output went to its destination.
#[derive(Debug)]
pub struct Written {
    /// Whether there is an output. There is none after errors, which are in the diagnostics; the
    /// report is built all the same.
    pub complete: bool,
    /// Figures and graphs, if the settings ask for them.
    pub report: LinkReport,
    /// Times and counts, if the settings ask for them.
    pub statistics: Option<Statistics>,
}

/// What a link had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The phases, in order.
    pub phases: Vec<Lap>,
    /// Sections of all images.
    pub input_sections: usize,
    /// Symbols of all images.
    pub input_symbols: usize,
    /// Functions that the images name.
    pub functions: usize,
    /// Functions that are part of the output.
    pub live_functions: usize,
    /// Sections of the output as it is merged.
    pub output_sections: usize,
    /// Symbols of the output as it is merged.
    pub output_symbols: usize,
}

/// What happens to the memory of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It is freed.
    Freed,
    /// It is left to the system, because the process exits after the link: that is faster than
    /// freeing it block by block.
    LeakedAtExit,
}

/// Links images that were selected, into `destination`. A message that stops the link goes
/// into the error, with all before it.
pub fn link_images(
    inputs: &Inputs<'_>,
    config: &Config,
    diags: &mut Diagnostics,
    destination: &mut dyn Destination,
    memory: Memory,
) -> Result<Written, Error> {
    let detailed = config.report && config.report_detail;
    let mut clock = Stopwatch::start(config.statistics || detailed);
    // The release that the link stands for.
    let release = config.release(inputs.release);

    // Whether the link works on Mercury or on machine code.
    let half =
        mercury::half_of(inputs, config, release, diags).map_err(|error| diags.fail(error))?;
    let dialect = Dialect::new(release, config.arch, half);

    // Read and check every image, in parallel.
    let batches = parse::batches(inputs);
    let Read { objects, resolver, calls } =
        parse::read(inputs, dialect, &batches, config).map_err(|error| diags.fail(error))?;
    if dialect.has_compat() {
        compat::check(&objects, dialect.arch(), diags);
    }
    clock.lap("read");

    // Which definition each name refers to.
    let Some(resolution) = resolver.finish(diags) else {
        if config.explain {
            explain::definitions::explain(&objects, diags);
        }
        return Err(std::mem::take(diags).into_error());
    };

    // Who calls whom.
    let graph = calls.finish(&resolution);
    clock.lap("resolve");

    // Which functions and variables are unified.
    let unified = unified::collect(&objects, &resolution, config, dialect)
        .map_err(|error| diags.fail(error))?;

    // Which functions are live.
    let reach = reach::reach(
        &objects,
        &graph,
        &resolution,
        &unified,
        inputs.host_references.as_ref(),
        config,
    );
    let cx = Analysis {
        objects: &objects,
        resolution: &resolution,
        graph: &graph,
        reach: &reach,
        unified: &unified,
        config,
        dialect,
    };

    checks::tools_patch(cx).map_err(|error| diags.fail(*error))?;
    clock.lap("reach");

    // Who uses shared memory and image references.
    let usage = usage::collect(cx);
    clock.lap("usage");

    // Which sections and symbols the output has, in creation order. Beyond this
    // point no section, symbol or string is added.
    let merged = merge::merge(cx, &usage);
    clock.lap("merge");

    // What kernels inherit from the functions they call. Messages come in
    // nvlink's order: stacks, limits, undefined names, register bounds.
    // Beside that, as neither has work for all threads: where everything is in its
    // memory space.
    let mut limits = Diagnostics::default();
    let (properties, layout) = rayon::join(
        || properties::properties(cx, &merged, diags),
        || layout::layout(cx, &usage, &merged, &mut limits),
    );
    let layout = layout.map_err(|error| diags.fail(error))?;
    checks::reserved_memory(cx, diags);
    checks::aliases(cx, diags);
    checks::uncalled(cx, diags);
    diags.append(limits);

    // Undefined names.
    undefined::check(cx, &merged, diags);
    clock.lap("layout");

    // Which relocations are applied and which are emitted for the loader.
    let relocated = relocate::relocate(cx, &merged, &layout, diags);
    diags.sort();
    clock.lap("relocate");

    // Final order, indices and tables need all of that.
    let linked = Linked {
        cx,
        merged: &merged,
        layout: &layout,
        relocated: &relocated,
        properties: &properties,
    };
    if config.explain {
        explain::explain(linked, diags);
    }
    let mut report = match config.report {
        true => report::collect(linked),
        false => LinkReport::default(),
    };
    report.detail = detailed.then(|| report::collect_detail(linked, &usage));
    clock.lap("report");
    let statistics = config.statistics.then(|| statistics(linked));
    let finish = |laps| statistics.map(|s| Statistics { phases: laps, ..s });
    if diags.failed() {
        return Ok(Written { complete: false, report, statistics: finish(clock.laps()) });
    }
    // The bytes.
    match half {
        Half::Machine => {
            let plan = write::plan(linked);
            report.map = config.report.then(|| report::collect_map(linked, &plan));
            classic::write(linked, &plan, destination).map_err(|error| diags.fail(error))?;
        }
        Half::Mercury => {
            // Both halves of the file.
            let map =
                mercury_file(linked, diags, destination).map_err(|error| diags.fail(error))?;
            report.map = map;
        }
    }
    clock.lap("write");
    let laps = clock.laps();
    if let Some(detail) = &mut report.detail {
        detail.phases = laps.clone();
    }
    if memory == Memory::LeakedAtExit {
        std::mem::forget((objects, resolution, graph, merged, properties, layout, relocated));
        std::mem::forget(batches);
    }
    Ok(Written { complete: true, report, statistics: finish(laps) })
}

fn statistics(linked: Linked<'_, '_>) -> Statistics {
    let (cx, merged) = (linked.cx, linked.merged);
    let objects = || cx.objects.iter().map(|object| object.cubin);
    Statistics {
        phases: Vec::new(),
        input_sections: objects().map(|cubin| cubin.sections().iter().count()).sum(),
        input_symbols: objects().map(|cubin| cubin.symbol_count()).sum(),
        functions: cx.graph.len(),
        live_functions: cx.graph.functions.ids().filter(|&f| cx.reach.is_live(f)).count(),
        output_sections: merged.sections.ids().count(),
        output_symbols: merged.symbols.ids().count(),
    }
}

/// Writes a file of two halves; its map, if there is to be a report. Only who looks at
/// the file again needs it in memory.
fn mercury_file(
    linked: Linked<'_, '_>,
    diags: &mut Diagnostics,
    destination: &mut dyn Destination,
) -> Result<Option<LinkMap>, Diagnostic> {
    let config = linked.cx.config;
    if !config.report && !config.mercury.self_check {
        mercury::write(linked, destination)?;
        return Ok(None);
    }
    let mut image = Vec::new();
    mercury::write(linked, &mut image)?;
    mercury::check_output(&image, config, linked.cx.dialect.release(), diags)?;
    write::whole(&image, destination)?;
    Ok(report::collect_map_of_halves(linked, &image).filter(|_| config.report))
}
