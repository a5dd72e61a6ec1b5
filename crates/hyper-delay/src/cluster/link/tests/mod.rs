mod clocks;
mod cuts;
mod encoding;
mod fixture;
mod handshake;
mod load;
mod secured;
mod snapshots;
