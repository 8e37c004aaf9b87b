//! Error barriers that a link without `-g` takes away.
//!
//! A link with `-r -g` puts them before every EXIT, but does not record that the code reports errors
//! (GEN_ERRBAR_AT_EXIT). nvlink translates every EXIT anew, so that another link without `-g`, with
//! or without `-r`, writes the code as if the first had been made without it. [`relink-of-debug`]

use super::capsules::{ERROR_WAIT, Edit, Unit};
use super::instruction::Instruction;

/// ERRBAR and CGAERRBAR.
const ERROR_BARRIER: u16 = 0x1ab;
const EXIT: u16 = (Instruction::EXIT & 0x1ff) as u16;

/// Whether two adjacent operations may be the end of an error wait.
pub(super) fn is_wait(first: u16, second: u16) -> bool {
    (first, second) == (ERROR_BARRIER, EXIT)
}

/// Marks error waits that share a Mercury instruction with their EXIT. The EXIT waits for what the
/// barrier waited for.
pub(super) fn remove_waits(code: &[Instruction], units: &[Unit], edits: &mut [Edit]) -> Option<()> {
    for unit in units.iter().filter(|u| u.count > 2) {
        let code = code.get(unit.first..unit.first + unit.count)?;
        let Some((exit, wait)) = code.split_last().filter(|(exit, _)| exit.is_exit()) else {
            continue;
        };
        let whole: Vec<u128> = ERROR_WAIT.iter().map(|i| i.essence()).collect();
        let found: Vec<u128> = wait.iter().map(|i| i.essence()).collect();
        if !whole.ends_with(&found) {
            continue;
        }
        let waits = wait.iter().fold(exit.waits(), |waits, i| waits | i.waits());
        let edits = edits.get_mut(unit.first..unit.first + unit.count)?;
        edits.fill(Edit::RemoveForPlain);
        *edits.last_mut()? = Edit::Wait(waits);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_loses_its_barriers() {
        let exit = Instruction(Instruction::EXIT).waiting(1);
        let [fence, report, group] = ERROR_WAIT;
        let code = [fence, report.waiting(2), group, exit, report, group, exit];
        let units = [Unit { first: 0, count: 4 }, Unit { first: 4, count: 3 }];
        let mut edits = [Edit::Keep; 7];
        remove_waits(&code, &units, &mut edits).unwrap();
        assert_eq!(edits[..3], [Edit::RemoveForPlain; 3]);
        assert_eq!((edits[3], edits[6]), (Edit::Wait(3), Edit::Wait(1)));
        let other = [fence, fence, report, group, exit];
        let mut edits = [Edit::Keep; 5];
        remove_waits(&other, &[Unit { first: 0, count: 5 }], &mut edits).unwrap();
        assert_eq!(edits, [Edit::Keep; 5]);
    }
}
