//! Bytes of output as they come in `chunk`.

/// The bytes that a text stands for; nothing if it is no base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut res = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in digits.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            res.push(u8::try_from(bits >> n_bits & 0xff).ok()?);
        }
    }
    Some(res)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_of_rest_is_read() {
        let check = |text: &str, expected: Option<&[u8]>| {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        };
        check("", Some(b""));
        check("aGkK", Some(b"hi\n"));
        check("cQo=", Some(b"q\n"));
        check("cQ==", Some(b"q"));
        check("/+8=", Some(&[0xff, 0xef]));
        check("a b", None);
    }
}
