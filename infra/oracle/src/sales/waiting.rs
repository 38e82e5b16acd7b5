//! The sales that wait for a human, as commands print them.

use domain::{open_work::Work, ports::Clock};
use operations::list::{Row, of_works};
use runtime::System;

use crate::{
    command::{CommandError, Ended, OrFailed, Target, wait},
    terminal::output::{self, minute},
};

/// Prints the sales with open work of these kinds.
pub(crate) fn list(target: &Target, works: &[Work]) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let rows = wait(async {
        let rows = of_works(deployed.lists(), works, System.now()).await;
        rows.or_failed("the list cannot be read")
    })?;
    print(&rows, target.json)
}

/// Prints rows, as a table or as a JSON array.
pub(crate) fn print(rows: &[Row], json: bool) -> Result<Ended, CommandError> {
    output::print_list(json, rows, "nothing waits for a human\n", || table(rows, output::width()))
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
    output::table(&["WORK", "DUE (UTC)", "TIER", "DETAIL"], rows.iter().map(line), width)
}
