//! The report in a real browser. Run by `scripts/browser`, which names the browser and the page in the environment:
//!
//! - `AMQ_BROWSER`: the program;
//! - `AMQ_REPORT`: the page; without it, a synthetic one is made;
//! - `AMQ_PICTURES`: a folder for screenshots in both widths and both colour schemes, if they are wanted.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::devtools::Browser;
use crate::synthetic;

const WIDE: u32 = 1280;
const NARROW: u32 = 390;

#[test]
#[ignore = "needs a browser: scripts/browser"]
fn a_browser_shows_the_report() -> Result<()> {
    let program = PathBuf::from(env::var_os("AMQ_BROWSER").context("AMQ_BROWSER names no browser")?);
    let folder = tempfile::tempdir()?;
    let pages = if let Some(page) = env::var_os("AMQ_REPORT") {
        vec![fs::canonicalize(&page).with_context(|| format!("{}", page.display()))?]
    } else {
        let page = |name: &str, run| -> Result<PathBuf> {
            let path = folder.path().join(name);
            fs::write(&path, synthetic::page(&[run]))?;
            Ok(path)
        };
        let with_studies = folder.path().join("studies.html");
        fs::write(&with_studies, crate::studies::page())?;
        vec![
            page("hostile.html", synthetic::hostile())?,
            page("report.html", synthetic::run())?,
            with_studies,
        ]
    };
    for page in pages {
        check(&program, &page).with_context(|| page.display().to_string())?;
    }
    Ok(())
}

fn check(program: &Path, page: &Path) -> Result<()> {
    let url = format!("file://{}", page.display());
    let mut browser = Browser::start(program)?;
    resize(&mut browser, WIDE)?;
    scheme(&mut browser, "light")?;
    browser.open(&url)?;

    sorting(&mut browser)?;
    hiding(&mut browser)?;
    choosing(&mut browser)?;
    filtering(&mut browser)?;
    downloads(&mut browser)?;
    widths_and_schemes(&mut browser, page)?;
    quiet(&browser, &url)?;
    drop(browser);

    // A fresh browser: what a page does without its script, from the first moment on.
    let mut browser = Browser::start(program)?;
    without_script(&mut browser, &url)
}

fn resize(browser: &mut Browser, width: u32) -> Result<()> {
    let screen = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
    browser.call("Emulation.setDeviceMetricsOverride", &screen).map(drop)
}

fn scheme(browser: &mut Browser, scheme: &str) -> Result<()> {
    let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
    browser.call("Emulation.setEmulatedMedia", &features).map(drop)
}

/// Every sortable column of the first summary table, both ways: numbers by value, missing ones last.
fn sorting(browser: &mut Browser) -> Result<()> {
    let fault = browser.value(
        "(() => {
            const table = document.querySelector('#summary .chosen table');
            if (!table) return 'no summary table is chosen';
            const headers = [...table.tHead.rows[0].cells];
            for (const [column, header] of headers.entries()) {
                for (const sign of [1, -1]) {
                    header.querySelector('button').click();
                    const want = sign > 0 ? 'ascending' : 'descending';
                    if (header.getAttribute('aria-sort') !== want) return 'column ' + column + ' is not marked ' + want;
                    const all = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.v);
                    const known = all.filter((v) => v !== undefined).map(Number);
                    if (all.slice(0, known.length).includes(undefined)) return 'column ' + column + ': missing numbers are not last';
                    for (let i = 1; i < known.length; i++)
                        if (sign * (known[i] - known[i - 1]) < 0) return 'column ' + column + ' is not sorted';
                }
            }
            return '';
        })()",
    )?;
    no_fault(&fault)
}

/// Each name of a legend hides what is drawn of its filter, in its own figure only, and shows it again; by the keyboard too,
/// since it is a button.
fn hiding(browser: &mut Browser) -> Result<()> {
    let fault = browser.value(
        "(() => {
            const legends = [...document.querySelectorAll('figure .legend')];
            if (legends.length === 0) return 'no figure has a legend';
            const seen = () => [...document.querySelectorAll('.panels g[data-f]')].filter((g) => g.getClientRects().length > 0).length;
            const all = seen();
            for (const legend of legends) {
                const panels = legend.closest('figure').querySelector('.panels');
                for (const item of legend.children) {
                    const button = item.querySelector('button');
                    const own = () => [...panels.querySelectorAll('g[data-f=\"' + item.dataset.f + '\"]')];
                    const name = item.textContent.trim();
                    if (own().length === 0) return name + ' has nothing drawn in its figure';
                    button.click();
                    if (own().some((g) => g.getClientRects().length > 0)) return name + ' is not hidden';
                    if (button.getAttribute('aria-pressed') !== 'false') return name + ' looks pressed';
                    if (seen() >= all) return 'nothing is hidden with ' + name;
                    button.click();
                    if (seen() !== all) return name + ' is not shown again';
                }
            }
            return '';
        })()",
    )?;
    no_fault(&fault)
}

/// The summary's chooser shows one cell at a time.
fn choosing(browser: &mut Browser) -> Result<()> {
    let fault = browser.value(
        "(() => {
            const chooser = document.querySelector('#summary [data-chooser]');
            const select = chooser.querySelector('select');
            if (!select) return '';
            for (const option of select.options) {
                select.value = option.value;
                select.dispatchEvent(new Event('change'));
                const seen = [...chooser.querySelectorAll('.choice')].filter((choice) => choice.offsetParent !== null);
                if (seen.length !== 1 || seen[0].id !== option.value) return 'choosing ' + option.value + ' shows ' + seen.map((s) => s.id);
            }
            return '';
        })()",
    )?;
    no_fault(&fault)
}

fn filtering(browser: &mut Browser) -> Result<()> {
    let fault = browser.value(
        "(() => {
            const form = document.getElementById('cell-filter');
            const rows = [...document.querySelector('#cell-table tbody').rows];
            const seen = () => rows.filter((row) => row.offsetParent !== null);
            const set = (name, value) => { form.elements[name].value = value; form.dispatchEvent(new Event('input')); };
            if (seen().length !== rows.length) return 'rows are hidden at the start';
            set('text', 'no row has this text');
            if (seen().length !== 0) return 'a text that no row has leaves rows';
            set('text', '');
            for (const name of ['filter', 'status']) {
                for (const option of [...form.elements[name].options].slice(1)) {
                    set(name, option.value);
                    const count = seen().length;
                    if (count === 0) return name + ' ' + option.value + ' shows nothing';
                    if (form.elements[name].options.length > 2 && count === rows.length) return name + ' ' + option.value + ' hides nothing';
                    if (!document.getElementById('cell-count').textContent.startsWith(count + ' of ')) return 'the count is wrong';
                }
                set(name, '');
            }
            return seen().length === rows.length ? '' : 'rows stay hidden';
        })()",
    )?;
    no_fault(&fault)
}

/// Both downloads arrive, whole.
fn downloads(browser: &mut Browser) -> Result<()> {
    let folder = browser.folder().join("downloads");
    fs::create_dir(&folder)?;
    browser.call("Page.setDownloadBehavior", &json!({ "behavior": "allow", "downloadPath": folder }))?;
    let rows = browser.value("document.querySelector('#cell-table tbody').rows.length")?;
    let rows = usize::try_from(rows.as_u64().context("no rows")?)?;

    browser.value("document.querySelector('[data-download=json]').click()")?;
    let cells: Vec<serde_json::Map<String, Value>> =
        serde_json::from_str(&arrived(&folder.join("cells.json"))?)?;
    ensure!(cells.len() == rows, "{} cells in the JSON, {rows} in the page", cells.len());

    browser.value("document.querySelector('[data-download=csv]').click()")?;
    let csv = arrived(&folder.join("cells.csv"))?;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    ensure!(reader.headers()?.iter().any(|header| header == "payload_bits_per_key"), "the CSV has no header");
    let records = reader.records().collect::<Result<Vec<_>, _>>()?;
    ensure!(records.len() == rows, "{} records in the CSV, {rows} in the page", records.len());
    Ok(())
}

/// The text of a download, once it is there.
fn arrived(path: &Path) -> Result<String> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if path.exists() {
            return Ok(fs::read_to_string(path)?);
        }
        thread::sleep(Duration::from_millis(50));
    }
    bail!("{} did not arrive", path.display())
}

/// Dark differs from light in paper and ink, and no width makes the page scroll sideways.
fn widths_and_schemes(browser: &mut Browser, page: &Path) -> Result<()> {
    let mut looks = Vec::new();
    for name in ["light", "dark"] {
        scheme(browser, name)?;
        for width in [WIDE, NARROW] {
            resize(browser, width)?;
            let wide = browser.value("document.documentElement.scrollWidth")?.as_u64().context("no width")?;
            if wide > u64::from(width) {
                let widest = "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, pre, svg')) \
                              .map((e) => [e.getBoundingClientRect().right, e.outerHTML.slice(0, 120)]) \
                              .sort((a, b) => b[0] - a[0]).slice(0, 3)";
                let widest = browser.value(widest)?;
                bail!("the page is {wide} wide in a window of {width}: {widest}");
            }
            picture(browser, page, &format!("{name}-{width}"))?;
        }
        let paint = "(() => { const s = getComputedStyle(document.body); \
                     const t = document.querySelector('svg text'); \
                     return [s.backgroundColor, s.color, t ? getComputedStyle(t).fill : s.color]; })()";
        looks.push(browser.value(paint)?);
    }
    for part in 0..3 {
        ensure!(looks[0][part] != looks[1][part], "dark looks like light: {looks:?}");
    }
    resize(browser, WIDE)
}

fn picture(browser: &mut Browser, page: &Path, name: &str) -> Result<()> {
    let Some(folder) = env::var_os("AMQ_PICTURES") else { return Ok(()) };
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let path = PathBuf::from(folder).join(format!("{stem}-{name}.png"));
    let data = browser.picture()?;
    fs::write(&path, base64(&data).context("the picture is no base64")?)?;
    Ok(())
}

/// Decodes standard base64.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(out)
}

/// Nothing on the console, nothing fetched but the page itself.
fn quiet(browser: &Browser, url: &str) -> Result<()> {
    let said = browser.events(&["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"]);
    ensure!(said.is_empty(), "the console is not silent: {said:?}");
    let requests = browser.events(&["Network.requestWillBeSent"]);
    for request in requests {
        let target = request["params"]["request"]["url"].as_str().unwrap_or_default();
        let own = target == url
            || target.starts_with("blob:")
            || target.starts_with("data:")
            || target == "about:blank";
        ensure!(own, "the page fetches {target}");
    }
    Ok(())
}

/// All content is there and visible when no script runs.
fn without_script(browser: &mut Browser, url: &str) -> Result<()> {
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }))?;
    resize(browser, WIDE)?;
    browser.open(url)?;
    let fault = browser.value(
        "(() => {
            if (document.documentElement.classList.contains('js')) return 'the script ran';
            const visible = (element) => element.getClientRects().length > 0;
            for (const part of document.querySelectorAll('section, #summary table, figure, figcaption, figure svg, #cell-table tr'))
                if (!visible(part)) return 'hidden: ' + (part.id || part.outerHTML.slice(0, 80));
            for (const part of document.querySelectorAll('.needs-js'))
                if (visible(part)) return 'a control without function: ' + part.outerHTML.slice(0, 80);
            return document.querySelectorAll('section').length === 10 ? '' : 'sections are missing';
        })()",
    )?;
    no_fault(&fault)?;
    quiet(browser, url)
}

fn no_fault(fault: &Value) -> Result<()> {
    match fault.as_str() {
        Some("") => Ok(()),
        Some(fault) => bail!("{fault}"),
        None => bail!("the check gave {fault}"),
    }
}

#[test]
fn base64_decodes() {
    assert_eq!(base64("aGVsbG8=").unwrap(), b"hello");
    assert_eq!(base64("?"), None);
}
