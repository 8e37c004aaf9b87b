//! `--report`: a page about a link. One file that loads nothing else: the template's parts and, as
//! JSON, what the link reported.

mod data;
mod strings;
mod times;

pub use times::Times;

use libwarpld::driver::Traced;
use libwarpld::report::LinkReport;

/// What the page tells about.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The linker and its version.
    pub tool: &'a str,
    /// The target.
    pub target: libwarpld::Arch,
    /// The name of the output.
    pub output: &'a str,
    /// Whether the output is relocatable.
    pub relocatable: bool,
    /// What happened to each input.
    pub inputs: &'a [Traced],
    /// The report.
    pub report: &'a LinkReport,
    /// What took how long.
    pub times: &'a Times,
}

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 7] = [
    include_str!("js/model.js"),
    include_str!("js/view.js"),
    include_str!("js/table.js"),
    include_str!("js/treemap.js"),
    include_str!("js/graph.js"),
    include_str!("js/memory.js"),
    include_str!("js/main.js"),
];

impl Page<'_> {
    /// The page. It is the same for any number of threads but for the element `times`.
    pub fn html(&self) -> String {
        let mut out = String::new();
        for line in TEMPLATE.split_inclusive('\n') {
            match line.trim() {
                "@style@" => out.push_str(STYLE),
                "@data@" => out.push_str(&in_script(&data::json(self))),
                "@times@" => out.push_str(&in_script(&self.times.json())),
                "@script@" => SCRIPTS.iter().for_each(|script| out.push_str(script)),
                _ => out.push_str(line),
            }
        }
        out
    }
}

/// JSON that can stand in a script element: nothing in it begins a tag or a comment.
fn in_script(json: &serde_json::Value) -> String {
    let text = json.to_string();
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_json_ends_its_element() {
        let hostile = "</script><!--&\"'\\";
        let text = in_script(&serde_json::json!([hostile]));
        assert!(!text.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
    }

    #[test]
    fn the_template_has_a_place_for_each_part() {
        for mark in ["@style@", "@data@", "@times@", "@script@"] {
            assert_eq!(TEMPLATE.lines().filter(|line| line.trim() == mark).count(), 1, "{mark}");
        }
        for part in SCRIPTS.iter().chain([&STYLE]) {
            assert!(!part.contains("</"), "a part would end its element");
        }
    }
}
