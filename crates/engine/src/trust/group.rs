//! Groups with one member. Many systems give each user such a group, and a umask that lets it
//! write.

use rustix::process::geteuid;

/// Whether this process's user is the only member of a group, according to the machine's own files.
/// A group that is not in them counts as shared.
pub(super) fn is_ours_alone(group: u32) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    has_one_member(group, geteuid().as_raw(), &read("/etc/group"), &read("/etc/passwd"))
}

fn has_one_member(group: u32, user: u32, groups: &str, users: &str) -> bool {
    let id = |field: Option<&str>| field.and_then(|field| field.parse::<u32>().ok());
    // It must be the user's own first group, and nobody else's.
    let mut names = Vec::new();
    for line in users.lines() {
        let mut fields = line.split(':');
        let (name, number, primary) = (fields.next(), id(fields.nth(1)), id(fields.next()));
        match (number == Some(user), primary == Some(group)) {
            (true, true) => names.extend(name),
            (false, true) => return false,
            _ => {}
        }
    }
    if names.is_empty() {
        return false;
    }
    let mut found = groups.lines().map(|line| line.split(':')).filter_map(|mut fields| {
        let number = id(fields.nth(2))?;
        (number == group).then(|| fields.next().unwrap_or_default())
    });
    let Some(members) = found.next() else { return false };
    found.next().is_none() && members.split(',').all(|member| member.is_empty() || names.contains(&member))
}

#[cfg(test)]
mod tests {
    use super::has_one_member;

    const USERS: &str = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\neve:x:1002:50::/:/bin/sh\n";

    #[test]
    fn a_group_of_one_is_ours_and_any_other_is_not() {
        for (group, groups, expected) in [
            (1000, "ann:x:1000:\n", true),
            (1000, "ann:x:1000:ann\n", true),
            (1000, "ann:x:1000:bob\n", false),
            (1000, "ann:x:1000:\nalias:x:1000:bob\n", false),
            (1000, "", false),
            // It is somebody else's first group.
            (50, "staff:x:50:\n", false),
            (1001, "bob:x:1001:\n", false),
            // It is nobody's first group, so its members need not be named here.
            (60, "games:x:60:\n", false),
            (60, "games:x:60:ann\n", false),
        ] {
            assert_eq!(has_one_member(group, 1000, groups, USERS), expected, "{group} in {groups:?}");
        }
    }
}
