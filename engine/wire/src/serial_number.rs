//! Comparison of serial numbers, which wrap.

/// Whether `a` is newer than `b` as serial numbers, which may wrap.
///
/// True if the distance from `b` up to `a` is between 1 and 2^31 - 1.
pub fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_keep_their_order_across_the_wrap() {
        assert!(is_newer(1, 0));
        assert!(!is_newer(0, 0));
        assert!(!is_newer(0, 1));
        assert!(is_newer(0, u32::MAX));
        assert!(is_newer(5, u32::MAX - 5));
        assert!(!is_newer(u32::MAX - 5, 5));
    }
}
