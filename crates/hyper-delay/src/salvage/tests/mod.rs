mod accepted;
mod damage;
mod stopped_store;
mod whole;
