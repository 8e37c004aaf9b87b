//! Answers of `--why-live` and `--why-dead` as JSON.

use super::paths::Paths;
use super::why::Question;
use super::{CallGraphNode, Data, FORMAT, LinkReport, Removal};
use crate::demangle::{demangle, meant};
use crate::json::{joined, json_option, json_string};

/// One object with the answers to all questions, in order.
pub fn why_json(report: &LinkReport, questions: &[(Question, &str)]) -> String {
    let paths = Paths::new(&report.callgraph);
    let answers = questions.iter().map(|(question, name)| {
        let question = match question {
            Question::WhyLive => "why-live",
            Question::WhyDead => "why-dead",
        };
        let functions = meant(&report.callgraph, |node| &node.name, name);
        let functions =
            functions.into_iter().map(|(index, node)| function(report, &paths, index, node));
        let data = meant(&report.data, |data| &data.name, name);
        let data = data.into_iter().map(|(_, data)| variable(data));
        format!(
            "{{\"question\":\"{question}\",\"name\":{},\"symbols\":[{}]}}",
            json_string(name),
            joined(functions.chain(data))
        )
    });
    let answers = joined(answers);
    format!("{{\"format\":{FORMAT},\"report\":\"why\",\"answers\":[{answers}]}}\n")
}

fn function(report: &LinkReport, paths: &Paths, index: usize, node: &CallGraphNode) -> String {
    let chain = match node.removed {
        true => Vec::new(),
        false => paths.chain(index),
    };
    let reason = match (node.removed, node.entry, report.removal) {
        (false, true, _) => "kernel",
        (false, false, _) if !chain.is_empty() => "reached",
        (false, false, _) if node.address_taken => "address-taken",
        (false, false, _) => "nothing-removed",
        (true, false, _) => "unreached",
        (true, true, Removal::HostReferences) => "no-host-reference",
        (true, true, Removal::ByName) => "not-named",
        (true, true, Removal::Unreachable) => "removed",
    };
    let chain = chain.iter().filter_map(|&step| report.callgraph.get(step)).map(named);
    // Who would have kept it, had it been kept itself.
    let callers = paths.callers(index).iter().filter(|_| node.removed);
    let callers = callers.filter_map(|&at| report.callgraph.get(at)).map(named);
    format!(
        "{{{},\"kind\":\"{}\",\"live\":{},\"reason\":\"{reason}\",\"chain\":[{}],\"callers\":[{}]}}",
        fields(&node.name, node.file.as_deref()),
        if node.entry { "kernel" } else { "function" },
        !node.removed,
        joined(chain),
        joined(callers)
    )
}

fn variable(data: &Data) -> String {
    let reason = match (&data.file, &data.section) {
        (None, _) => "undefined",
        (_, None) => "no-place",
        _ => "variable",
    };
    format!(
        "{{{},\"kind\":\"variable\",\"live\":{},\"reason\":\"{reason}\",\"section\":{}}}",
        fields(&data.name, data.file.as_deref()),
        data.section.is_some(),
        json_option(data.section.as_deref())
    )
}

fn named(node: &CallGraphNode) -> String {
    format!("{{{}}}", fields(&node.name, node.file.as_deref()))
}

fn fields(symbol: &str, file: Option<&str>) -> String {
    format!(
        "\"symbol\":{},\"demangled\":{},\"file\":{}",
        json_string(symbol),
        json_option(demangle(symbol).as_deref()),
        json_option(file)
    )
}

#[cfg(test)]
mod tests {
    use super::super::why::tests::report;
    use super::*;

    #[test]
    fn answers_have_reasons_and_chains() {
        let report = report(Removal::HostReferences);
        let questions = [(Question::WhyLive, "foo"), (Question::WhyDead, "dead2")];
        assert_eq!(
            why_json(&report, &questions),
            "{\"format\":1,\"report\":\"why\",\"answers\":[\
             {\"question\":\"why-live\",\"name\":\"foo\",\"symbols\":[{\"symbol\":\"_Z3fooi\",\
             \"demangled\":\"foo(int)\",\"file\":\"a.o\",\"kind\":\"function\",\"live\":true,\
             \"reason\":\"reached\",\"chain\":[\
             {\"symbol\":\"_Z1kv\",\"demangled\":\"k()\",\"file\":\"a.o\"},\
             {\"symbol\":\"_Z3midv\",\"demangled\":\"mid()\",\"file\":\"a.o\"},\
             {\"symbol\":\"_Z3fooi\",\"demangled\":\"foo(int)\",\"file\":\"a.o\"}],\
             \"callers\":[]}]},\
             {\"question\":\"why-dead\",\"name\":\"dead2\",\"symbols\":[{\"symbol\":\"_Z5dead2v\",\
             \"demangled\":\"dead2()\",\"file\":\"a.o\",\"kind\":\"function\",\"live\":false,\
             \"reason\":\"unreached\",\"chain\":[],\"callers\":[\
             {\"symbol\":\"_Z4deadv\",\"demangled\":\"dead()\",\"file\":\"a.o\"}]}]}]}\n"
        );
    }
}
