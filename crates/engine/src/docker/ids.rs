//! Whose files are whose: ids inside of a daemon's containers, and the same ones outside.

/// How many ids a daemon maps into its containers.
const MAPPED: u32 = 1 << 16;

/// How a daemon maps ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ids {
    /// Not at all.
    #[default]
    Same,
    /// To those of an account for this (`userns-remap`): these are the first user and group.
    Shifted { user: u32, group: u32 },
    /// A daemon without root. Its owner is root inside. All other ids are somebody's outside that
    /// the daemon does not tell.
    Owners { user: Option<u32> },
    /// In a way that it does not tell.
    Unknown,
}

impl Ids {
    /// Of a daemon with `userns-remap`: its data is in a directory for these ids, by their numbers.
    pub(super) fn shifted(root_directory: &str) -> Self {
        let (_, last) = root_directory.rsplit_once('/').unwrap_or_default();
        let numbers = last.split_once('.').map(|(user, group)| (user.parse(), group.parse()));
        match numbers {
            Some((Ok(user), Ok(group))) => Self::Shifted { user, group },
            _ => Self::Unknown,
        }
    }

    /// Who outside is this user of a container, if that can be known.
    pub(super) fn outside(self, user: u32) -> Option<u32> {
        match self {
            Self::Same => Some(user),
            Self::Shifted { user: first, .. } => first.checked_add(user),
            Self::Owners { user: owner } if user == 0 => owner,
            Self::Owners { .. } | Self::Unknown => None,
        }
    }

    /// Who in a container has the files of this user and this group.
    pub(super) fn inside(self, (user, group): (u32, u32)) -> Option<(u32, u32)> {
        let below = |id: u32, first: u32| id.checked_sub(first).filter(|id| *id < MAPPED);
        match self {
            Self::Same => Some((user, group)),
            Self::Shifted { user: first_user, group: first_group } => {
                Some((below(user, first_user)?, below(group, first_group)?))
            }
            Self::Owners { user: owner } => (owner == Some(user)).then_some((0, 0)),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_daemon_maps_nothing() {
        assert_eq!((Ids::Same.outside(1000), Ids::Same.inside((7, 8))), (Some(1000), Some((7, 8))));
    }

    #[test]
    fn a_remapped_daemon_says_by_its_directory_to_whom() {
        let shifted = Ids::shifted("/var/lib/docker/165536.231072");
        assert_eq!(shifted, Ids::Shifted { user: 165_536, group: 231_072 });
        assert_eq!(shifted.outside(1000), Some(166_536));
        assert_eq!(shifted.inside((166_536, 232_072)), Some((1000, 1000)));
        // What is nobody's inside.
        assert_eq!(shifted.inside((1000, 1000)), None);
        assert_eq!(shifted.inside((165_536 + MAPPED, 231_072)), None);
    }

    #[test]
    fn an_unknown_mapping_is_not_guessed() {
        let unknown = Ids::shifted("/srv/docker");
        assert_eq!((unknown.outside(1000), unknown.inside((1000, 1000))), (None, None));
    }

    #[test]
    fn the_owner_of_a_rootless_daemon_is_root_in_it() {
        let owners = Ids::Owners { user: Some(1000) };
        assert_eq!((owners.inside((1000, 1000)), owners.inside((1001, 1001))), (Some((0, 0)), None));
        assert_eq!((owners.outside(0), owners.outside(1000)), (Some(1000), None));
        // Of a daemon elsewhere nobody knows whose it is.
        assert_eq!(Ids::Owners { user: None }.inside((1000, 1000)), None);
    }
}
