mod accepted_loss;
mod damage;
mod expiry;
mod fixture;
mod forged;
mod operator_rows;
mod retrying;
mod undamaged;
