/// Returns the quotient and the remainder. Inlined, because it is fast only if the divisor is a
/// constant.
///
/// Processors of 32 bits multiply by the reciprocal: their general division of 64 bits is a slow
/// function of 500 bytes.
///
/// # Panics
///
/// Panics if `divisor` is zero.
#[inline(always)]
#[must_use]
pub const fn div_rem(number: u64, divisor: u64) -> (u64, u64) {
    if cfg!(target_pointer_width = "64") || divisor.is_power_of_two() {
        return (number / divisor, number % divisor);
    }
    by_reciprocal(number, divisor)
}

#[inline(always)]
const fn by_reciprocal(number: u64, divisor: u64) -> (u64, u64) {
    // At most one too small, because the reciprocal is rounded down.
    let quotient = high_product(number, u64::MAX / divisor);
    let remainder = number - quotient * divisor;
    match remainder < divisor {
        true => (quotient, remainder),
        false => (quotient + 1, remainder - divisor),
    }
}

/// Returns the upper 64 bits of the product.
#[inline(always)]
const fn high_product(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    let (a_high, a_low) = (a >> 32, a & LOW);
    let (b_high, b_low) = (b >> 32, b & LOW);
    let middle = a_high * b_low + ((a_low * b_low) >> 32);
    let other_middle = a_low * b_high + (middle & LOW);
    a_high * b_high + (middle >> 32) + (other_middle >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocal_divides_exactly() {
        let divisors = [1, 2, 3, 5, 512, 15_625, 1_000_000, 1_953_125, 1_000_000_000];
        for divisor in divisors.into_iter().chain([u64::MAX - 1, u64::MAX]) {
            let mut random = fastrand::Rng::with_seed(divisor);
            let multiple = u64::MAX / divisor * divisor;
            let edges = [0, 1, divisor - 1, divisor, multiple - 1, multiple, u64::MAX];
            let numbers = (0..10_000).map(|_| random.u64(..) >> random.u32(0..64));
            for number in edges.into_iter().chain(numbers) {
                let exact = (number / divisor, number % divisor);
                assert_eq!(
                    by_reciprocal(number, divisor),
                    exact,
                    "{number} / {divisor}"
                );
                assert_eq!(div_rem(number, divisor), exact);
            }
        }
    }

    #[test]
    fn high_product_has_the_upper_half() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..10_000 {
            let (a, b) = (random.u64(..), random.u64(..));
            let product = u128::from(a) * u128::from(b);
            assert_eq!(u128::from(high_product(a, b)), product >> 64);
        }
    }
}
