use futures::stream;

use super::*;

fn answer(e_tag: Option<&str>, version: Option<&str>, range: Range<u64>) -> GetResult {
    GetResult {
        payload: GetResultPayload::Stream(Box::pin(stream::empty())),
        meta: ObjectMeta {
            location: "a".into(),
            last_modified: Default::default(),
            size: 100,
            e_tag: e_tag.map(String::from),
            version: version.map(String::from),
        },
        range,
        attributes: Default::default(),
        extensions: Default::default(),
    }
}

fn rest(asked: &GetOptions, answer: &GetResult) -> Option<Rest> {
    Rest::of(&"a".into(), asked.clone(), answer)
}

#[test]
fn rest_needs_a_strong_tag_or_a_version() {
    let asked = GetOptions::new().with_version(Some("of the caller"));
    for (e_tag, version, requested) in [
        (Some("\"1\""), Some("v"), Some((Some("\"1\""), "v"))),
        (Some("\"1\""), None, Some((Some("\"1\""), "of the caller"))),
        (Some("W/\"1\""), Some("v"), Some((None, "v"))),
        (Some("*"), Some("v"), Some((None, "v"))),
        (None, Some("v"), Some((None, "v"))),
        (Some("W/\"1\""), None, None),
        (Some("*"), None, None),
        (Some(""), None, None),
        (None, None, None),
    ] {
        let rest = rest(&asked, &answer(e_tag, version, 3..9));
        let options = rest.as_ref().map(|it| &it.options);
        let options =
            options.map(|it| (it.if_match.as_deref(), it.version.as_deref().unwrap_or("")));
        assert_eq!(options, requested, "{e_tag:?} {version:?}");
    }
    assert!(rest(&asked, &answer(Some("\"1\""), Some("v"), 3..3)).is_none());
}

#[test]
fn answer_of_another_version_is_not_the_same() {
    let asked = GetOptions::new();
    let first = answer(Some("\"1\""), Some("v"), 3..9);
    let rest = rest(&asked, &first).unwrap();
    assert!(rest.is_same(&first.meta));
    for other in [
        answer(Some("\"2\""), Some("v"), 3..9),
        answer(Some("W/\"1\""), Some("v"), 3..9),
        answer(None, Some("v"), 3..9),
        answer(Some("\"1\""), Some("w"), 3..9),
        answer(Some("\"1\""), None, 3..9),
    ] {
        assert!(!rest.is_same(&other.meta), "{other:?}");
    }
    let size = first.meta.size + 1;
    assert!(!rest.is_same(&ObjectMeta { size, ..first.meta }));
}
