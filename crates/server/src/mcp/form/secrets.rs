//! Fields that would ask for a secret: those are for a page of their own, never for a form.

use super::super::problem::Problem;

/// Words that make a field secret wherever they stand, without case and punctuation.
const ANYWHERE: [&str; 26] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "encryptionkey",
    "signingkey",
    "licensekey",
    "sshkey",
    "clientsecret",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "refreshtoken",
    "sessiontoken",
    "creditcard",
    "debitcard",
    "cardnumber",
    "bankaccount",
    "accountnumber",
    "securitycode",
    "recoveryphrase",
    "seedphrase",
];
/// Words that make it secret where they stand alone, or last in a name of several.
const LAST: [&str; 20] = [
    "pwd",
    "pass",
    "pin",
    "otp",
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "cvv",
    "cvc",
    "cvv2",
    "iban",
    "ssn",
    "pan",
    "mnemonic",
    "cookie",
    "authorization",
    "totp",
    "mfa",
];
/// Whole names.
const WHOLE: [&str; 4] = ["key", "keys", "tokens", "card"];

/// Refuses a name or title that asks for a secret.
pub(crate) fn refuse(place: &str, text: &str) -> Result<(), Problem> {
    if asks(text) { Err(refused(place)) } else { Ok(()) }
}

pub(super) fn refused(place: &str) -> Problem {
    let problem = "asks for a password, key, token or payment data, which no form may carry";
    Problem::argument(place, problem).hint(
        "Send the person to a page of your own with request_form and `url` instead of a schema.",
    )
}

/// Whether a name or title asks for a secret.
fn asks(text: &str) -> bool {
    let words = words(text);
    let joined: String = words.concat();
    let Some(last) = words.last() else { return false };
    ANYWHERE.iter().any(|it| joined.contains(it))
        || LAST.contains(&last.as_str())
        || (words.len() == 1 && WHOLE.contains(&last.as_str()))
}

/// The words of a name, however it joins them.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_titles_that_ask_for_secrets() {
        for text in [
            "password",
            "userPassword",
            "API key",
            "api_key",
            "OPENAI_API_KEY",
            "Your access token",
            "token",
            "githubToken",
            "Credit card number",
            "cvv",
            "Secret",
            "client-secret",
            "pin",
            "key",
            "IBAN",
            "Seed phrase",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "name",
            "sortKey",
            "primary_key_column",
            "maxTokens",
            "token_limit",
            "Token budget",
            "Pinned version",
            "compass",
            "Postcard",
            "companion",
            "secretary",
            "",
        ] {
            assert!(!asks(text), "{text}");
        }
    }
}
