mod accepted;
mod damage;
mod forged;
mod standing;
mod stopped_store;
mod whole;
