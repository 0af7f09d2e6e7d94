//! Functions of the host's that scripts call: what they give, and what a script may do about them.

mod calls;
mod content;
mod endings;
mod limits;
mod world;
