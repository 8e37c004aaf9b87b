//! Links in the documentation lead somewhere, files that it names exist, and the book holds every
//! page of `docs`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every Markdown file of the repository.
#[test]
fn links_and_anchors_exist() {
    let documents = documents();
    assert!(documents.len() > 20, "{documents:?}");
    let broken: Vec<String> = documents.iter().flat_map(|path| broken_links(path)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_of_docs_is_in_the_book_once() {
    let book = root().join("docs");
    let summary = book.join("SUMMARY.md");
    let listed: Vec<PathBuf> =
        links(&read(&summary)).iter().map(|link| resolve(&summary, link).0).collect();
    let distinct: HashSet<&PathBuf> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len(), "SUMMARY.md lists a page twice: {listed:#?}");
    let missing: Vec<PathBuf> = documents()
        .into_iter()
        .filter(|path| path.starts_with(&book) && *path != summary && !distinct.contains(path))
        .collect();
    assert!(missing.is_empty(), "not in SUMMARY.md: {missing:#?}");
}

/// The built book has no copy of what lies outside of `docs`.
#[test]
fn pages_of_the_book_link_to_pages_of_the_book() {
    let book = root().join("docs");
    let mut outside = Vec::new();
    for page in documents().iter().filter(|path| path.starts_with(&book)) {
        let leaves = |link: &&String| !resolve(page, link).0.starts_with(&book);
        let text = read(page);
        outside.extend(
            links(&text)
                .iter()
                .filter(leaves)
                .map(|link| format!("{}: {link} leads out of the book", page.display())),
        );
    }
    assert!(outside.is_empty(), "{outside:#?}");
}

/// Files named in the text, such as `scripts/fuzz.sh` or, of a source, the end of its path.
#[test]
fn named_files_exist() {
    let root = root();
    let all: Vec<String> = files(&root, None)
        .iter()
        .map(|path| format!("/{}", path.strip_prefix(&root).unwrap().display()))
        .collect();
    let exists = |name: &str| {
        root.join(name).exists() || all.iter().any(|path| path.ends_with(&format!("/{name}")))
    };
    let mut names = 0;
    let mut missing = Vec::new();
    for document in documents() {
        for name in named_files(&read(&document), &root) {
            names += 1;
            if !exists(&name) {
                missing.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(names > 20, "{names}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The HTML that mdBook makes: its anchors, its navigation, and links that only it rewrites.
#[test]
#[ignore = "needs the built book: scripts/book.sh runs it"]
fn links_in_the_built_book_exist() {
    let book = match std::env::var_os("WARPLD_BOOK") {
        Some(folder) => PathBuf::from(folder).canonicalize().unwrap(),
        None => root().join("target/book"),
    };
    let pages = files(&book, Some("html"));
    assert!(pages.len() > 20, "no book in {}", book.display());
    let texts: HashMap<&PathBuf, String> = pages.iter().map(|page| (page, read(page))).collect();
    let anchors: HashMap<&PathBuf, HashSet<&str>> =
        texts.iter().map(|(page, text)| (*page, values(text, "id").collect())).collect();
    let mut broken = Vec::new();
    for (page, text) in &texts {
        for link in values(text, "href").chain(values(text, "src")).filter(|link| is_local(link)) {
            let (target, anchor) = resolve(page, link);
            let found = target.exists()
                && (anchor.is_empty()
                    || anchors.get(&target).is_some_and(|ids| ids.contains(anchor)));
            if !found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn what_counts_as_a_link() {
    let text = "[a](b.md#c) `[not](here)` `two\nlines` [url](https://x.y/z) ![i](p.png)\n\
        ```\n[nor](there)\n```\n[two](d.md \"title\") [`-r`](e.md#-r)\n";
    assert_eq!(links(text), ["b.md#c", "p.png", "d.md", "e.md#-r"]);
}

#[test]
fn anchors_are_made_as_by_mdbook() {
    let text = "# What `-r` does\n## Notes, again\n```\n# no heading\n```\n## Notes, again\n\
        ### [Linked](x.md) \u{2014} more_than 65,279\n#no heading\n";
    let wanted = ["what--r-does", "notes-again", "notes-again-1", "linked--more_than-65279"];
    assert_eq!(headings(text), wanted);
}

#[test]
fn what_counts_as_a_file_name() {
    let text = "`docs/SUMMARY.md` `merge/plan.rs` `docs/*.md` `usr/bin` `docs` `a b/c.rs`\n";
    assert_eq!(named_files(text, &root()), ["docs/SUMMARY.md", "merge/plan.rs"]);
}

#[test]
fn broken_links_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let text = "# One\n[a](#one) [b](#two) [c](page.md#one) [d](page.md#two) [e](none.md)";
    fs::write(&page, text).unwrap();
    let broken = broken_links(&page.canonicalize().unwrap());
    assert_eq!(broken.len(), 3, "{broken:?}");
}

/// The links of a document that lead nowhere.
fn broken_links(document: &Path) -> Vec<String> {
    links(&read(document))
        .iter()
        .filter(|link| {
            let (target, anchor) = resolve(document, link);
            let found = target.exists()
                && (anchor.is_empty() || headings(&read(&target)).iter().any(|h| h == anchor));
            !found
        })
        .map(|link| format!("{}: {link}", document.display()))
        .collect()
}

/// The file a link leads to, and the anchor in it.
fn resolve<'a>(document: &Path, link: &'a str) -> (PathBuf, &'a str) {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return (document.to_path_buf(), anchor);
    }
    let target = document.parent().unwrap().join(path);
    (target.canonicalize().unwrap_or(target), anchor)
}

/// The targets of inline links that lead to files, not to the net.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let lines: Vec<&str> = prose(text).collect();
    for paragraph in lines.split(|line| line.trim().is_empty()) {
        let paragraph = without_code(&paragraph.join("\n"));
        for rest in paragraph.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if is_local(target) {
                links.push(target.to_owned());
            }
        }
    }
    links
}

fn is_local(link: &str) -> bool {
    !link.contains("://") && !link.starts_with("mailto:") && !link.starts_with("data:")
}

/// The anchors that mdBook and GitHub give to the headings of a page.
fn headings(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut anchors = Vec::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(&without_targets(title.trim()));
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

fn anchor(title: &str) -> String {
    title
        .chars()
        .filter_map(|c| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// A line without the targets of its links: `[text](target)` becomes `[text]`.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}

/// The lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// A paragraph without its inline code, whose brackets are no links.
fn without_code(paragraph: &str) -> String {
    paragraph.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// What inline code names as a file: a path that starts in a folder of the repository, or one that
/// ends like a source. Patterns (`*`, `…`) are no names.
fn named_files(text: &str, root: &Path) -> Vec<String> {
    let lines: Vec<&str> = prose(text).collect();
    let is_name = |span: &str| {
        span.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
            && span.split_once('/').is_some_and(|(first, _)| {
                !first.is_empty() && first != "target" && root.join(first).is_dir()
                    || span.ends_with(".rs")
            })
    };
    lines
        .split(|line| line.trim().is_empty())
        .flat_map(|paragraph| {
            let paragraph = paragraph.join("\n");
            let spans = paragraph.split('`').skip(1).step_by(2);
            spans.filter(|span| is_name(span)).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

/// The values of an attribute in a page of HTML, as mdBook writes them.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {attribute}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value)
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn documents() -> Vec<PathBuf> {
    files(&root(), Some("md"))
}

/// All files of one kind, or of any, below a folder, without those that are built, downloaded or
/// hidden.
fn files(folder: &Path, extension: Option<&str>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ignored = name.starts_with('.') || name.starts_with("target") || name == "toolkit";
        if entry.file_type().unwrap().is_dir() && !ignored {
            found.extend(files(&path, extension));
        } else if extension.is_none_or(|wanted| path.extension().is_some_and(|e| e == wanted)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
