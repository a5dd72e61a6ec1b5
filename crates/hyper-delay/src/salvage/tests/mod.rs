mod accepted;
mod damage;
mod forged;
mod stopped_store;
mod whole;
