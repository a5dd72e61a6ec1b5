use super::*;

#[test]
fn control_characters_become_spaces() {
    let text = "a\nb\r\tc\u{1b}[31md\u{2028}e\u{202e}f\u{85}g";
    assert_eq!(plain(text), "a b  c [31md e f g");
    assert_eq!(plain("Füße 镜像"), "Füße 镜像");
}

#[test]
fn text_is_cut_at_the_given_position() {
    assert_eq!(shorten("abcdef", 6, 0), "abcdef");
    assert_eq!(shorten("abcdefg", 5, 2), "ab…fg");
    assert_eq!(shorten("abcdefg", 5, 9), "abcd…");
    assert_eq!(shorten("äöüß", 1, 0), "…");
}
