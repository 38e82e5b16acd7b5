//! `oracle list`.

use domain::ports::Clock;
use operations::list;
use runtime::System;

use crate::{
    chat::{bridge as bridge_command, bridge_report},
    command::{CommandError, Ended, OrFailed, Target, wait},
    mail::inquiries,
    sales::waiting,
    terminal::output,
    toll::command as toll_command,
};

pub(crate) fn run(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let (rows, inquiries, bridges, purchases) = wait(async {
        let rows = list::everything(deployed.lists(), System.now()).await.or_failed("the lists cannot be read")?;
        let inquiries = inquiries::waiting(&deployed, Some(&rows)).await?;
        let bridges = bridge_command::waiting(&deployed).await?;
        let purchases = toll_command::waiting(&deployed.stores.sales).await?;
        Ok((rows, inquiries, bridges, purchases))
    })?;
    if target.json {
        let rows = rows.iter().map(serde_json::to_value).chain(inquiries.iter().map(serde_json::to_value));
        let rows = rows.chain(bridges.iter().map(serde_json::to_value));
        let rows = rows.chain(purchases.iter().map(serde_json::to_value));
        output::print_json(&rows.collect::<Result<Vec<_>, _>>()?)?;
        return Ok(Ended::Done);
    }
    if !rows.is_empty() || (inquiries.is_empty() && bridges.is_empty() && purchases.is_empty()) {
        waiting::print(&rows, false)?;
    }
    if !inquiries.is_empty() {
        output::print(&inquiries::table(&inquiries, output::width()))?;
    }
    if !bridges.is_empty() {
        output::print(&bridge_report::table(&bridges, output::width()))?;
    }
    if !purchases.is_empty() {
        output::print(&toll_command::waiting_table(&purchases, output::width()))?;
    }
    Ok(Ended::Done)
}
