//! Two rules say which names a kept workspace may have. `core` has one for callers, and the jail
//! has one for itself, because it believes nobody and must not depend on `core`. A name that only
//! `core` allows would be refused when a program is started, long after the workspace was made.
//! Only this crate sees both.

use belljar_core::WorkspaceName;
use belljar_jail::KeptName;
use proptest::prelude::*;

/// Whether callers may use the name. If so, the jail must take it, and as it is.
fn is_allowed(name: &str) -> bool {
    let is_allowed = WorkspaceName::new(name).is_ok();
    if is_allowed {
        let kept = KeptName::new(name).unwrap_or_else(|| panic!("the jail refuses {name:?}"));
        assert_eq!(kept.as_str(), name);
    }
    is_allowed
}

#[test]
fn the_jail_takes_every_short_name() {
    let characters: Vec<char> = (0..=u8::MAX).map(char::from).collect();
    let mut allowed = 0;
    for first in &characters {
        allowed += usize::from(is_allowed(&first.to_string()));
        for second in &characters {
            allowed += usize::from(is_allowed(&format!("{first}{second}")));
        }
    }
    let good = 26 + 26 + 10 + 2;
    assert_eq!(allowed, good + good * good, "names of letters, digits, `-` and `_`");
}

#[test]
fn the_jail_takes_names_of_every_length() {
    let most = WorkspaceName::LONGEST;
    for length in 0..=4 * most {
        for character in ["x", "-", "_", "0"] {
            assert_eq!(is_allowed(&character.repeat(length)), (1..=most).contains(&length), "{length}");
        }
    }
}

#[test]
fn no_rule_lets_a_name_lead_elsewhere() {
    for name in ["", ".", "..", "...", ".a", "-.", "a.", "a/b", "/", "./a", "a\0", "\0", "a\n", "é", "a b"] {
        assert!(!is_allowed(name), "{name:?}");
        assert!(KeptName::new(name).is_none(), "{name:?}");
    }
    for name in ["-", "--", "-a", "--help", "_", "_a", "0"] {
        assert!(is_allowed(name), "{name:?}");
    }
}

proptest! {
    #[test]
    fn of_any_text_the_jail_takes_what_callers_may_use(name in any::<String>()) {
        is_allowed(&name);
    }

    #[test]
    fn of_near_names_the_jail_takes_those_that_callers_may_use(name in "[-_.a-zA-Z0-9]{0,80}") {
        is_allowed(&name);
    }

    #[test]
    fn the_jail_takes_every_name(name in "[-_a-zA-Z0-9]{1,64}") {
        prop_assert!(is_allowed(&name));
    }
}
