#!/usr/bin/env python3
"""Looks at pages of --report in Chromium: they load, sort, filter and draw, and the console stays silent.

    test_pages.py FOLDER    FOLDER has NAME.html for the pages; pictures of two of them go to FOLDER/pictures

The page hostile.html is that of the inputs of `inputs.py hostile`; nccl.html must load within a second.
"""
import re
import sys
from pathlib import Path

from inputs import NAMES
from webdriver import Browser

VIEWS = "overview kernels functions graph memory dropped inputs time".split()
# The numbers in a column, as the rows show them.
COLUMN = """
const [label] = arguments;
const heads = [...document.querySelectorAll('main thead th')];
const at = heads.findIndex((head) => head.textContent === label);
const rows = document.querySelectorAll('main tbody tr:not(.inside)');
return [heads[at].getAttribute('aria-sort'), [...rows].map((row) => {
  const first = row.cells[at].firstChild;
  return Number(first ? first.textContent.replace(/,/g, '') : 'NaN');
})];
"""
SORT = """
const heads = [...document.querySelectorAll('main thead th button')];
heads.find((head) => head.textContent === arguments[0]).click();
"""
checks = 0


def check(truth, *what):
    global checks
    checks += 1
    if not truth:
        raise AssertionError(" ".join(map(str, what)))


def go(browser, view):
    browser.run("location.hash = arguments[0]", "#" + view)
    current = view.split("/")[0]
    browser.until("const a = document.querySelector('#nav [aria-current]'); return a && a.dataset.view === arguments[0]", current)


def silent(browser, where):
    check(not (said := browser.messages()), where, "the console said", said)


def all_views(browser, name, pictures):
    for scheme, background in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")]:
        browser.scheme(scheme)
        browser.until("return getComputedStyle(document.documentElement).backgroundColor === arguments[0]", background)
        for view in VIEWS:
            go(browser, view)
            check(browser.run("return document.getElementById('main').textContent.length") > 20, name, view, "is empty")
            if name in ("nccl", "hostile"):
                browser.picture(pictures / f"{name}-{view}-{scheme}.png")
    silent(browser, name)


def the_button_changes_colours(browser):
    browser.scheme("light")
    shade = "return document.documentElement.dataset.theme"
    browser.until(shade + " === 'light'")
    for expected in ["dark", "light"]:
        browser.click("#theme")
        check(browser.run(shade) == expected, "the button does not make it", expected)
    # The next page follows the system again.
    browser.run("localStorage.clear()")


def treemap_is_complete(browser):
    """Each way to group accounts for every byte, and a step into a part for every byte of that part."""
    go(browser, "overview")
    total = browser.run("return D.size")
    for key in ["kernel", "function", "section", "input"]:
        browser.click(f".choice button[data-key={key}]")
        sizes = browser.run("return tree(arguments[0]).children.map((node) => node.size)", key)
        check(sum(sizes) == total, key, sum(sizes), total)
        drawn, blank = browser.run(
            "const c = document.querySelector('canvas.treemap'), d = document.createElement('canvas');"
            "[d.width, d.height] = [c.width, c.height]; return [c.toDataURL(), d.toDataURL()]"
        )
        check(drawn != blank and len(drawn) > 1000, key, "is not drawn")
    broken = browser.run(
        """
        const bad = (node) => node.children.length > 0 &&
          (node.children.reduce((sum, child) => sum + child.size, 0) !== node.size || node.children.some(bad));
        return Object.keys(TREES).filter((key) => bad(tree(key)));
        """
    )
    check(not broken, broken)


def tables_sort(browser, view, labels):
    go(browser, view)
    for label in labels:
        for _ in range(2):
            browser.run(SORT, label)
            order, values = browser.run(COLUMN, label)
            wanted = sorted(values, reverse=order == "descending")
            check(order in ("ascending", "descending") and values == wanted, view, label, order)


def search_filters(browser, view, word):
    """By the keyboard: a slash goes to the field, Escape clears it."""
    go(browser, view)
    browser.run("document.activeElement.blur()")
    all_rows = browser.run("return document.querySelectorAll('main tbody tr').length")
    browser.keys("/" + word)
    browser.until("return / of /.test(document.querySelector('main caption').textContent)")
    rows = browser.run("return [...document.querySelectorAll('main tbody tr')].map((row) => row.textContent + [...row.querySelectorAll('[title]')].map((e) => e.title))")
    check(rows, view, word, "finds nothing")
    check(all(word.lower() in row.lower() for row in rows), view, "shows what was not looked for")
    browser.keys("\ue00c")
    browser.until("return document.querySelectorAll('main tbody tr').length === arguments[0]", all_rows)


def functions_are_counted_once(browser):
    """The figure, the tab and the table say the same: what only the driver defines is not in the output."""
    go(browser, "overview")
    figure = browser.run("return [...document.querySelectorAll('.figures div')].find((e) => e.firstChild.textContent === 'Functions').lastChild.textContent")
    tab = browser.run("return document.querySelector('#nav [data-view=functions]').textContent.replace('Functions', '').trim()")
    go(browser, "functions")
    caption = browser.run("return document.querySelector('main caption').textContent")
    check(tab == figure, "functions", tab, figure)
    check(caption == f"Functions in the output: {figure}", caption, figure)


def kernels_open(browser):
    go(browser, "kernels")
    browser.click("main tbody tr .open")
    check(browser.run("return document.querySelectorAll('tr.inside').length") == 1, "the row does not open")
    check(browser.run("return document.querySelector('.open').getAttribute('aria-expanded')") == "true", "aria-expanded")
    browser.click("main tbody tr .open")
    check(browser.run("return document.querySelectorAll('tr.inside').length") == 0, "the row does not close")


def chains_are_those_of_the_report(browser):
    """From the kernel to the function that has the maximum; frames add up to the stack."""
    wrong = browser.run(
        """
        return KERNELS.filter((k) => {
          const chain = k.registersFrom < 0 ? [] : chainTo(k.f, k.registersFrom);
          const linked = chain.every((f, i) => i === 0 || calleesOf(chain[i - 1]).includes(f));
          const most = k.registersFrom < 0 || F.registers[k.registersFrom] === k.registers;
          const frames = [k.f, ...k.chain].reduce((sum, f) => sum + F.frame[f], 0);
          return !(linked && most && (k.recursive || D.relocatable || frames === k.stack));
        }).map((k) => nameOf(k.f));
        """
    )
    check(not wrong, wrong)


def graph_walks(browser):
    go(browser, "graph")
    nodes = browser.run("return document.querySelectorAll('svg.graph g.node').length")
    check(nodes > 1, "the graph has one node")
    target = browser.run("return document.querySelector('svg.graph g.node:not(.here)').dataset.f")
    browser.run("document.querySelector('svg.graph g.node:not(.here)').dispatchEvent(new MouseEvent('click'))")
    browser.until("return location.hash === '#graph/' + arguments[0]", target)
    browser.until("return document.querySelector('svg.graph g.here').dataset.f === arguments[0]", target)


def inputs_have_short_names(browser):
    """Without the folder of all of them, which stays in the title."""
    go(browser, "inputs")
    shown = browser.run("return [...document.querySelectorAll('main td.label .name')].map((e) => [e.textContent, e.title])")
    check(shown and all(title.endswith(text) and "/" not in text for text, title in shown), shown[:3])


def hostile_names_are_text(browser):
    for view in VIEWS:
        go(browser, view)
        check(browser.run("return typeof window.hacked") == "undefined", view)
        check(browser.run("return document.querySelectorAll('b, main script').length") == 0, view, "has markup from a name")
    go(browser, "functions")
    names = browser.run("return [...document.querySelectorAll('main td .name')].map((e) => e.textContent)")
    kernel, function = (name.decode() for name in NAMES.values())
    check(kernel in names, names)
    escaped = function.replace("\x1b", "\\x1b").replace("\u202e", "\\u{202e}").replace("\n", "\\n")
    check(escaped in names, names)
    everything = browser.run("return document.documentElement.outerHTML")
    check(not re.search("[\x00-\x08\x0b-\x1f\u200e\u200f\u2028-\u202e]", everything), "a hidden character")


def main(folder):
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    pages = sorted(folder.glob("*.html"))
    browser = Browser()
    loaded = ""
    try:
        for page in pages:
            name = page.stem
            # The machine may be busy: the best of three.
            seconds = min(browser.open(page) for _ in range(3))
            check(browser.run("return document.documentElement.dataset.ready") == "true", name, "is not ready")
            all_views(browser, name, pictures)
            the_button_changes_colours(browser)
            treemap_is_complete(browser)
            tables_sort(browser, "kernels", ["Registers", "Stack", "Shared", "Const 0", "Code", "With callees"])
            tables_sort(browser, "functions", ["Bytes", "Registers", "Callers"])
            tables_sort(browser, "inputs", ["Bytes in the output", "Functions"])
            functions_are_counted_once(browser)
            kernels_open(browser)
            chains_are_those_of_the_report(browser)
            graph_walks(browser)
            if name == "hostile":
                hostile_names_are_text(browser)
            if name == "nccl":
                search_filters(browser, "kernels", "ReduceScatter")
                search_filters(browser, "functions", "allgather")
                search_filters(browser, "inputs", "c03")
                inputs_have_short_names(browser)
                size = page.stat().st_size
                check(size < 3_000_000, "NCCL's page has", size, "bytes")
                check(seconds < 1, "NCCL's page takes", seconds, "s")
                slow = browser.run("return Object.keys(VIEWS).map((v) => { const t = performance.now(); VIEWS[v][1](-1); return [v, performance.now() - t]; }).filter((v) => v[1] > 500)")
                check(not slow, "views take", slow)
                loaded = f"; NCCL: {size} bytes, loaded in {seconds:.2f} s"
            silent(browser, name)
    finally:
        browser.close()
    print(f"{checks} checks of {len(pages)} pages in Chromium{loaded}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
