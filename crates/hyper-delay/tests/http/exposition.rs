//! A strict parser of OpenMetrics text.

use std::collections::{BTreeMap, BTreeSet};

/// Metrics as they were shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exposition {
    /// The samples, by name and labels as they are written.
    samples: BTreeMap<String, f64>,
    /// The kinds of the families.
    kinds: BTreeMap<String, String>,
}

/// A family while its lines are read.
#[derive(Debug, Default)]
struct Family {
    name: String,
    help: bool,
    kind: String,
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sample {
    suffix: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Exposition {
    /// Panics if the text is no OpenMetrics text.
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
        let mut exposition = Self {
            samples: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        let mut family = Family::default();
        for line in body.split_terminator('\n') {
            assert!(!line.is_empty(), "an empty line");
            if let Some(metadata) = line.strip_prefix("# ") {
                let mut words = metadata.splitn(3, ' ');
                let [keyword, name, rest] = [(); 3].map(|()| words.next().expect(line));
                assert!(is_name(name), "{line}");
                if name != family.name {
                    exposition.add(std::mem::take(&mut family));
                    family.name = name.to_owned();
                }
                assert!(family.samples.is_empty(), "metadata after samples: {line}");
                match keyword {
                    "HELP" => assert!(!std::mem::replace(&mut family.help, true), "{line}"),
                    "TYPE" => {
                        assert!(family.kind.is_empty(), "{line}");
                        family.kind = rest.to_owned();
                    }
                    "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                    _ => panic!("{line}"),
                }
            } else {
                family.samples.push(sample(line, &family.name));
            }
        }
        exposition.add(family);
        exposition
    }

    /// The value of a sample by its name and labels, such as `a_total` or `a{b="c"}`. The prefix
    /// `hyper_delay_` is left out.
    #[track_caller]
    pub(crate) fn value(&self, name: &str) -> f64 {
        let name = format!("hyper_delay_{name}");
        let value = self.samples.get(&name);
        *value.unwrap_or_else(|| panic!("no {name} in {:#?}", self.samples))
    }

    /// Whether there is a sample of this name and labels.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.samples.contains_key(&format!("hyper_delay_{name}"))
    }

    /// The samples of a family that has the label `route` alone.
    pub(crate) fn routes(&self, family: &str) -> BTreeMap<&str, f64> {
        let start = format!("hyper_delay_{family}{{route=\"");
        let samples = self.samples.iter();
        let of = samples.filter_map(|(name, value)| {
            let route = name.strip_prefix(&start)?.strip_suffix("\"}")?;
            Some((route, *value))
        });
        of.collect()
    }

    /// The names of the families with their kinds.
    pub(crate) fn families(&self) -> &BTreeMap<String, String> {
        &self.kinds
    }

    fn add(&mut self, family: Family) {
        let Family {
            name,
            help,
            kind,
            samples,
        } = family;
        if name.is_empty() {
            return assert!(samples.is_empty(), "samples without a family");
        }
        assert!(help && !kind.is_empty(), "{name} has no HELP or no TYPE");
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            kind => panic!("{name} is a {kind}"),
        };
        for sample in &samples {
            assert!(suffixes.contains(&&*sample.suffix), "{name}: {sample:?}");
            let is_gauge = kind == "gauge";
            assert!(is_gauge || sample.value >= 0.0, "{name}: {sample:?}");
        }
        if kind == "histogram" {
            check_histogram(&name, &samples);
        }
        for sample in samples {
            let labels = sample.labels.iter();
            let labels: Vec<String> = labels
                .map(|(label, value)| format!("{label}=\"{value}\""))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            let full = format!("{name}{}{labels}", sample.suffix);
            let before = self.samples.insert(full.clone(), sample.value);
            assert_eq!(before, None, "{full} is there twice");
        }
        assert_eq!(
            self.kinds.insert(name, kind),
            None,
            "a family is there twice"
        );
    }
}

/// Buckets ascend, their counts do not fall, and the last one has all.
fn check_histogram(name: &str, samples: &[Sample]) {
    let of = |suffix| samples.iter().filter(move |sample| sample.suffix == suffix);
    let one = |suffix| {
        let values: Vec<f64> = of(suffix).map(|sample| sample.value).collect();
        assert_eq!(values.len(), 1, "{name}{suffix}");
        values[0]
    };
    let (_, count) = (one("_sum"), one("_count"));
    let mut last = (f64::NEG_INFINITY, 0.0);
    for bucket in of("_bucket") {
        let [(label, bound)] = &bucket.labels[..] else {
            panic!("{name}: {bucket:?}");
        };
        assert_eq!(label, "le");
        let bound = match bound.as_str() {
            "+Inf" => f64::INFINITY,
            bound => bound.parse().unwrap(),
        };
        assert!(
            bound > last.0 && bucket.value >= last.1,
            "{name}: {bucket:?}"
        );
        last = (bound, bucket.value);
    }
    assert_eq!(last, (f64::INFINITY, count), "{name}");
}

/// Reads `name{label="value",…} value`.
fn sample(line: &str, family: &str) -> Sample {
    let rest = line.strip_prefix(family);
    let rest = rest.unwrap_or_else(|| panic!("not of the family {family}: {line}"));
    let end = rest.find(['{', ' ']).expect(line);
    let (suffix, mut rest) = rest.split_at(end);
    let mut labels = Vec::new();
    if let Some(list) = rest.strip_prefix('{') {
        rest = list;
        loop {
            let (label, value) = rest.split_once("=\"").expect(line);
            assert!(is_name(label), "{line}");
            let end = end_of_string(value).expect(line);
            labels.push((label.to_owned(), value[..end].to_owned()));
            rest = &value[end + 1..];
            match rest.split_at(1) {
                (",", more) => rest = more,
                ("}", after) => {
                    rest = after;
                    break;
                }
                _ => panic!("{line}"),
            }
        }
    }
    let names: BTreeSet<&str> = labels.iter().map(|(label, _)| &**label).collect();
    assert_eq!(names.len(), labels.len(), "a label is there twice: {line}");
    let value = rest.strip_prefix(' ').expect(line);
    assert!(!value.contains(' '), "{line}");
    Sample {
        suffix: suffix.to_owned(),
        labels,
        value: value.parse().expect(line),
    }
}

/// The place of the quote that ends a string, after escapes that are valid.
fn end_of_string(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some(place),
            '\\' => assert!(matches!(characters.next()?.1, '\\' | '"' | 'n'), "{text}"),
            _ => {}
        }
    }
    None
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_start = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_start && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[test]
fn the_parser_refuses_what_is_no_openmetrics_text() {
    let good = "# HELP a x\n# TYPE a counter\na_total{b=\"c\\\"\"} 1\n# EOF\n";
    assert_eq!(Exposition::parse(good).samples["a_total{b=\"c\\\"\"}"], 1.0);
    for (from, to) in [
        ("# EOF\n", ""),
        ("# EOF\n", "# EOF\n\n"),
        ("# HELP a x\n", ""),
        ("# TYPE a counter\n", ""),
        ("a_total", "a"),
        ("a_total", "b_total"),
        (" 1\n", " x\n"),
        (" 1\n", " -1\n"),
        (" 1\n", " 1\n\n"),
        ("\\\"", "\""),
        ("\\\"", "\\x"),
        ("counter", "histogram"),
        ("1\n", "1\na_total{b=\"c\\\"\"} 1\n"),
    ] {
        let bad = good.replacen(from, to, 1);
        let parsed = std::panic::catch_unwind(|| Exposition::parse(&bad));
        assert!(parsed.is_err(), "{bad}");
    }
}
