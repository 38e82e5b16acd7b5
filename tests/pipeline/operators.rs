//! The decisions of operators, and how the functions carry them out.

use crate::{mail_retry::mail, samples::quick, simulator::Simulator};
use domain::{ports::MailError, sale::Mail};
use operations::{
    Done, Operator,
    redrive::{self, RedriveError},
};
use testkit::{Plan, every_single_fault, run};

fn operator() -> Operator {
    Operator::parse("dana", Some("looked at it")).unwrap()
}

fn redrive(sim: &Simulator) -> Option<Done<usize, RedriveError>> {
    let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
    let steps = run(redrive::redrive(ports, &operator(), &sim.session))?;
    Some(steps.map(|steps| steps.len()))
}

/// A sale whose mail was rejected: before or after its draft was created.
fn dead_letter(drafted: bool) -> Simulator {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", "Demand is real and the format fits."));
    let refusal = Some(MailError::Forbidden(403));
    sim.world.state().mailbox_says = if drafted { vec![None, refusal] } else { vec![refusal] }.into();
    sim.drain();
    assert!(matches!(mail(&sim), Mail::Dead { progress, .. } if progress.draft.is_some() == drafted));
    sim
}

/// There is exactly one mail, whatever fails during the command and however often it is repeated.
#[test]
fn a_redriven_mail_is_sent_once() {
    for drafted in [false, true] {
        let clean = dead_letter(drafted);
        clean.world.plan(Plan::none());
        assert_eq!(redrive(&clean).unwrap().unwrap(), 1);
        for (plan, what) in every_single_fault(clean.world.passed(), 3) {
            let mut sim = dead_letter(drafted);
            sim.world.plan(plan);
            drop(redrive(&sim));
            sim.world.plan(Plan::none());
            redrive(&sim).unwrap().unwrap();
            redrive(&sim).unwrap().unwrap();
            sim.recover();
            assert!(matches!(mail(&sim), Mail::Sent { .. }), "drafted {drafted}, {what}");
            assert_eq!(sim.world.state().sent.len(), 1, "drafted {drafted}, {what}");
            let records = sim.audit_lines().iter().filter(|line| line["action"] == "redrive verdict").count();
            assert_eq!(records, 1, "drafted {drafted}, {what}");
        }
    }
}
