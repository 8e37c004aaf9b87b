//! Compiled objects that are stamped out under other names of the same length.

/// A compiled template and where its numbered names lie.
pub struct Template {
    image: Vec<u8>,
    numbers: Vec<(usize, usize)>,
}

/// The name of a thing of the object with this number: `x00042x`.
pub fn slot(number: usize) -> String {
    format!("x{number:05}x")
}

/// Stands for the number of the next object.
pub const NEXT: usize = 99_999;

/// Stands for the number of a later object with a variable that others see.
pub const NEXT_VARIABLE: usize = 99_998;

/// The name of a function of an object.
pub fn function(number: usize, index: usize) -> String {
    format!("f{}_{index:02}", slot(number))
}

impl Template {
    pub fn new(image: Vec<u8>) -> Self {
        let number = |window: &[u8]| match window {
            [b'x', digits @ .., b'x'] if digits.iter().all(u8::is_ascii_digit) => {
                Some(digits.iter().fold(0, |n, d| n * 10 + usize::from(d - b'0')))
            }
            _ => None,
        };
        let windows = image.windows(7).enumerate();
        let numbers = windows.filter_map(|(at, window)| Some((at, number(window)?))).collect();
        Self { image, numbers }
    }
    /// The template with every number replaced.
    pub fn stamp(&self, renumber: impl Fn(usize) -> usize) -> Vec<u8> {
        let mut image = self.image.clone();
        for &(at, number) in &self.numbers {
            image[at..at + 7].copy_from_slice(slot(renumber(number)).as_bytes());
        }
        image
    }
    /// Object `number`, followed by object `next`.
    pub fn object(&self, number: usize, next: usize) -> Vec<u8> {
        self.stamp(|n| if n == NEXT { next } else { number })
    }
}
