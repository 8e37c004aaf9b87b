//! When the finalizer runs.

use super::FinalizerError;
use cubin::flags::CodeState;

/// Before or after the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// On one object before it is merged.
    PreLink,
    /// On the linked file.
    #[default]
    PostLink,
}

impl Mode {
    /// The mode's line in the trace.
    pub fn title(self) -> &'static str {
        match self {
            Self::PreLink => "Pre-Link Mode",
            Self::PostLink => "Post-Link Mode",
        }
    }

    /// Whether a file in this state may be finalized in this mode: before the
    /// link anything that is not machine code yet, after it only a capsule file.
    pub fn guard(self, state: CodeState) -> Result<(), FinalizerError> {
        match (self, state) {
            (_, CodeState::CapsuleMercury) => Ok(()),
            (_, CodeState::Mercury) => Err(FinalizerError::PureMercury),
            (Self::PreLink, CodeState::Sass) => Err(FinalizerError::NotEligible),
            (Self::PostLink, CodeState::Sass) => Err(FinalizerError::NotCapsule),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_map_to_the_engine_s_numbers() {
        let code = |mode: Mode, state| mode.guard(state).map_err(|e| e.code());
        assert_eq!(code(Mode::PostLink, CodeState::CapsuleMercury), Ok(()));
        assert_eq!(code(Mode::PreLink, CodeState::Sass), Err(4));
        assert_eq!(code(Mode::PostLink, CodeState::Sass), Err(5));
        assert_eq!(code(Mode::PreLink, CodeState::Mercury), Err(6));
    }
}
