//! Code of `-O0` in releases since 13.3: nothing stalls or waits.

use super::instruction::Instruction;

/// Code of `-O0` without its timing; `None` if it is optimised or has none.
/// (`unoptimised-code`)
pub fn untime(code: &[u8]) -> Option<Vec<u8>> {
    let mut code = Instruction::all(code)?;
    if !is_unoptimised(&code) {
        return None;
    }
    for instruction in &mut code {
        *instruction = instruction.timed_like(Instruction::NOP);
    }
    Some(code.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// Whether code was compiled with -O0 up to 13.2: the first instruction of such a function waits
/// for all boards in use and stalls as long as it can. In optimised code none is in use at the start.
pub fn is_unoptimised(code: &[Instruction]) -> bool {
    const MOST: u8 = 15;
    code.first().is_some_and(|first| first.stall() == MOST && first.waits() != 0)
}

/// Whether code was compiled with -O0 by any compiler. Optimised code stalls from the start.
pub fn lacks_optimisation(code: &[u8]) -> bool {
    let first = code.get(..Instruction::SIZE).and_then(Instruction::all).unwrap_or_default();
    is_unoptimised(&first) || first.first().is_some_and(|first| first.stall() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `LDC R1` and `EXIT`.
    const TIMED: [u128; 2] =
        [0x003e_de00_0000_0800_0000_df00_ff01_7b82, 0x003f_de00_0380_0000_0000_0000_0000_794d];

    fn bytes(code: &[u128]) -> Vec<u8> {
        code.iter().flat_map(|i| i.to_le_bytes()).collect()
    }

    #[test]
    fn what_waits_from_the_start_is_untimed() {
        let out = untime(&bytes(&TIMED)).unwrap();
        let untimed =
            [0x000f_c000_0000_0800_0000_df00_ff01_7b82, 0x000f_c000_0380_0000_0000_0000_0000_794d];
        assert_eq!(out, bytes(&untimed));
        assert!(lacks_optimisation(&out) && lacks_optimisation(&bytes(&TIMED)));
        assert_eq!(untime(&out), None, "there is nothing more to do");
        let optimised = bytes(&[0x000e_3000_0000_0800_0000_df00_ff01_7b82, TIMED[1]]);
        assert_eq!(untime(&optimised), None);
        assert!(!lacks_optimisation(&optimised) && !lacks_optimisation(&[]));
    }
}
