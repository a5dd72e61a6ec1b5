mod accepted;
mod damage;
mod expiry;
mod forged;
mod standing;
mod stopped_store;
mod whole;
