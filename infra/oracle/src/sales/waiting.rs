//! The sales that wait for a human, as commands print them.

use operations::list::Row;

use crate::{
    command::{CommandError, Ended},
    terminal::output::{self, minute},
};

/// Prints rows, as a table or as a JSON array.
pub(crate) fn print(rows: &[Row], json: bool) -> Result<Ended, CommandError> {
    output::print_list(json, rows, "nothing waits for a human\n", || table(rows, output::width()))?;
    Ok(Ended::Done)
}

fn table(rows: &[Row], width: usize) -> String {
    let line = |row: &Row| output::Row {
        cells: vec![
            row.work.as_str().to_owned(),
            format!("{}{}", minute(&row.due), if row.overdue { " !" } else { "" }),
            row.tier.map_or("-", domain::Tier::key).to_owned(),
            row.detail.clone(),
        ],
        below: row.session_id.as_str().to_owned(),
    };
    let rows: Vec<_> = rows.iter().map(line).collect();
    output::table(&["WORK", "DUE (UTC)", "TIER", "DETAIL"], &rows, width)
}
