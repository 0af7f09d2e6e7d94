//! Lends places of the host to cells, so that what scripts write there belongs to whoever owns the
//! place.
//!
//! A cell has an id that owns nothing. It gets a mount of its own, in which the kernel exchanges
//! two ids, the cell's and the owner's. Every other id stays what it is. Such a mount can only be
//! made by root, outside of every jail, which is where the helper is.
//!
//! Where the kernel or the file system has no such mounts, a cell gets an ordinary one.
//!
//! What is lent stays what it was when the jail was made, whatever is mounted or unmounted on the
//! host later: the helper has moved into a mount namespace with nothing but these places.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::{Named, Step, root};
use crate::kept_name::KeptName;
use crate::kernel::{self, Forked, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOSUID};
use crate::spec::{Expected, FileIdentity, Identity, JailSpec, LentPlace, RootEntry};

const _: () = assert!(LentPlace::MOST < kernel::MOST_SENT, "an answer is one message");

/// The places of one jail, and the socket on which the host asks for mounts of them.
pub(super) struct Lender {
    places: Vec<Place>,
    /// The directory with the kept workspaces.
    store: Option<Place>,
    socket: Option<OwnedFd>,
}

struct Place {
    source: PathBuf,
    identity: FileIdentity,
    handle: OwnedFd,
    user: u32,
    group: u32,
    /// Whether ids stay what they are, because they cannot be exchanged here.
    is_foreign: bool,
}

impl Lender {
    /// Opens what the spec lends, and tries whether ids can be exchanged there.
    pub(super) fn open(spec: &JailSpec, socket: Option<OwnedFd>) -> Step<Self> {
        let Identity::Range { first, .. } = spec.identity else {
            return Ok(Self { places: Vec::new(), store: None, socket: None });
        };
        let mut places: Vec<Place> = spec.lent.iter().map(Place::open).collect::<Step<_>>()?;
        for place in &mut places {
            place.is_foreign = place.lend(first).is_err();
        }
        let store = spec.store.as_ref().map(Place::open).transpose()?;
        Ok(Self { places, store, socket })
    }

    /// Moves this process into a mount namespace of its own that has these places, `/proc`, and
    /// nothing else. Nobody on the host is kept from unmounting anything else.
    pub(super) fn settle(&mut self) -> Step<()> {
        let mut places: Vec<&mut Place> = self.places.iter_mut().chain(&mut self.store).collect();
        if places.is_empty() {
            return Ok(());
        }
        kernel::unshare_namespaces(kernel::CLONE_NEWNS).step(|| "create a mount namespace".into())?;
        let mut entries = vec![RootEntry::Bind {
            source: "/proc".into(),
            target: "/proc".into(),
            writable: true,
            expected: Expected::Anything,
        }];
        entries.extend(places.iter().enumerate().map(|(number, place)| RootEntry::Bind {
            source: place.source.clone(),
            target: format!("/{number}").into(),
            writable: true,
            expected: Expected::File(place.identity),
        }));
        root::build_and_enter(&entries)?;
        for (number, place) in places.iter_mut().enumerate() {
            let inside = format!("/{number}");
            place.handle = kernel::open_path(&inside).step(|| format!("open {}", place.source.display()))?;
        }
        Ok(())
    }

    /// The numbers of the places in which ids stay what they are.
    pub(super) fn foreign(&self) -> Vec<usize> {
        let foreign = self.places.iter().enumerate().filter(|(_, place)| place.is_foreign);
        foreign.map(|(number, _)| number).collect()
    }

    /// The descriptor on which the host asks, or one that is never ready.
    pub(super) fn socket(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Answers one question of the host's: the id of a cell and the name of its workspace, if it
    /// has a kept one. The answer begins with that id. Then come the mounts, the workspace first,
    /// or why there are none.
    pub(super) fn answer(&mut self) {
        let mut question = [0; 4 + KeptName::LONGEST];
        let read = kernel::borrow_file(self.socket()).read(&mut question);
        let Some((id, name)) = read.ok().and_then(|read| question[..read].split_first_chunk()) else {
            self.socket = None;
            return;
        };
        let number = u32::from_le_bytes(*id);
        let workspace = KeptName::from_padded(name).map(|name| self.workspace(&name, number));
        let lent: io::Result<Vec<OwnedFd>> =
            workspace.into_iter().chain(self.places.iter().map(|place| place.lend(number))).collect();
        let (text, trees) = match &lent {
            Ok(trees) => (String::new(), trees.iter().map(AsRawFd::as_raw_fd).collect()),
            Err(error) => (error.to_string(), Vec::new()),
        };
        let message = [id.as_slice(), text.as_bytes()].concat();
        // Whoever does not wait any more has hung up.
        let _ = kernel::send_with_descriptors(self.socket(), &message, &trees);
    }

    /// A mount of one kept workspace. Its owner is nobody that a cell could harm, so ids must be
    /// exchanged: without that a cell could write nothing.
    fn workspace(&self, name: &KeptName, id: u32) -> io::Result<OwnedFd> {
        let store = self.store.as_ref().ok_or_else(|| io::Error::other("nothing is kept here"))?;
        let handle = kernel::open_path_below(store.handle.as_raw_fd(), name.as_str())?;
        let found = File::from(handle.try_clone()?).metadata()?;
        let (user, group) = (found.uid(), found.gid());
        let identity = store.identity;
        let source = store.source.join(name.as_str());
        Place { source, identity, handle, user, group, is_foreign: false }.lend(id)
    }
}

impl Place {
    fn open(place: &LentPlace) -> Step<Self> {
        let opened = root::open(&place.source, Expected::File(place.identity)).map(File::from);
        let found = opened.and_then(|handle| Ok((handle.metadata()?, handle)));
        let (metadata, handle) = found.step(|| format!("open {}", place.source.display()))?;
        Ok(Self {
            source: place.source.clone(),
            identity: place.identity,
            handle: handle.into(),
            user: metadata.uid(),
            group: metadata.gid(),
            is_foreign: false,
        })
    }

    fn lend(&self, id: u32) -> io::Result<OwnedFd> {
        let tree = kernel::copy_tree(self.handle.as_raw_fd())?;
        let exchange = match self.is_foreign {
            true => None,
            false => Some(exchanging(self.user, self.group, id)?),
        };
        let exchange = exchange.as_ref().map(AsRawFd::as_raw_fd);
        kernel::prepare_tree(tree.as_raw_fd(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, exchange)?;
        Ok(tree)
    }
}

/// A user namespace whose map exchanges the owner's ids and a cell's. No process stays in it.
fn exchanging(user: u32, group: u32, id: u32) -> io::Result<OwnedFd> {
    let (mut inner, outer) = UnixStream::pair()?;
    let pid = match kernel::clone_into_namespaces(kernel::CLONE_NEWUSER)? {
        Forked::Child => {
            drop(outer);
            // Waits until the namespace is not needed any more, or the helper is gone.
            let _ = inner.read(&mut [0]);
            kernel::exit_now(0)
        }
        Forked::Parent { pid, .. } => pid,
    };
    let made = (|| {
        fs::write(format!("/proc/{pid}/uid_map"), exchange(user, id))?;
        fs::write(format!("/proc/{pid}/gid_map"), exchange(group, id))?;
        File::open(format!("/proc/{pid}/ns/user"))
    })();
    drop(outer);
    kernel::wait_for(pid)?;
    made.map(OwnedFd::from)
}

/// A map in which two ids have each other's place, and every other id has its own.
fn exchange(one: u32, other: u32) -> String {
    /// The highest number is no id.
    const END: u32 = u32::MAX;
    if one == other {
        return format!("0 0 {END}\n");
    }
    let (low, high) = (one.min(other), one.max(other));
    let parts = [
        (0, 0, low),
        (low, high, 1),
        (low + 1, low + 1, high.saturating_sub(low + 1)),
        (high, low, 1),
        (high + 1, high + 1, END.saturating_sub(high + 1)),
    ];
    let some = parts.into_iter().filter(|(_, _, count)| *count > 0);
    some.map(|(inside, outside, count)| format!("{inside} {outside} {count}\n")).collect()
}

#[cfg(all(test, not(belljar_helper)))]
mod tests {
    use super::*;

    #[test]
    fn two_ids_change_places_and_no_other_does() {
        for (one, other) in [(0, 7), (7, 0), (1000, 0x7000_0001), (6, 7), (5, u32::MAX - 1), (7, 7)] {
            let map: Vec<[u32; 3]> = exchange(one, other)
                .lines()
                .map(|line| {
                    let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
                    numbers.try_into().unwrap()
                })
                .collect();
            let image = |id: u32| {
                let found = map.iter().filter(|[from, _, count]| (*from..*from + *count).contains(&id));
                let images: Vec<u32> = found.map(|[from, to, _]| id - from + to).collect();
                assert_eq!(images.len(), 1, "{id} in {map:?}");
                images[0]
            };
            assert_eq!((image(one), image(other)), (other, one));
            for same in [0, 1, 8, 999, 1001, 65534, 0x7000_0000, 0x7000_0002, u32::MAX - 2] {
                if same != one && same != other {
                    assert_eq!(image(same), same);
                }
            }
        }
    }
}
