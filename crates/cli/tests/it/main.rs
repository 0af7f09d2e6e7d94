//! The real binary, from outside: what it prints, where, and with which exit code.

mod bad_input;
mod belljar;
mod docker;
mod doctor;
mod exit_codes;
mod output;
mod sandbox;
mod screen;
mod shell;
mod signals;
mod terminal;
