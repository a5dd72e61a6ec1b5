/// Aligns rows below a head: columns of numbers on the right, others on the left. `-` and `?` stand
/// for what is not there or not known.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) -> Vec<String> {
    let is_none = |cell: &str| matches!(cell, "-" | "?");
    let is_number = |cell: &str| is_none(cell) || cell.bytes().all(|byte| byte.is_ascii_digit());
    let columns = head.iter().enumerate().map(|(column, head)| {
        let mut cells = rows.iter().map(|row| &*row[column]);
        let is_right = cells.clone().any(|cell| !is_none(cell)) && cells.clone().all(is_number);
        let longest = cells.by_ref().map(|cell| cell.chars().count()).max();
        let wide = longest.unwrap_or_default().max(head.chars().count());
        (wide, is_right)
    });
    let columns: Vec<_> = columns.collect();
    let head = head.iter().map(|&head| head.to_owned()).collect();
    let line = |row: Vec<String>| {
        let cells = row
            .iter()
            .zip(&columns)
            .map(|(cell, (wide, is_right))| match is_right {
                true => format!("{cell:>wide$}"),
                false => format!("{cell:<wide$}"),
            });
        let cells: Vec<_> = cells.collect();
        cells.join("  ").trim_end().to_owned()
    };
    std::iter::once(head).chain(rows).map(line).collect()
}
