//! Which variables may be added to a program that starts clean.

/// Variables by which a shell or the loader can be made to run something else.
const UNSAFE: [&str; 18] = [
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "DYLD_FORCE_FLAT_NAMESPACE",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "ENV",
    "GLOBIGNORE",
    "HOME",
    "IFS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PATH",
    "PROMPT_COMMAND",
    "PS4",
    "SHELL",
    "SHELLOPTS",
];

/// Whether a provider may add a variable to a program that starts clean: it is a plain name, and it
/// cannot change which program runs. A spec may have any.
pub fn is_safe_for_clean_env(name: &str) -> bool {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|next| next.is_ascii_alphanumeric() || next == '_');
    is_plain && !UNSAFE.contains(&name) && !name.starts_with("BASH_FUNC_")
}
