use super::process::Processes;
use crate::log::contract;

macro_rules! test {
    ($($fact:ident)*) => {
        $(
            #[tokio::test]
            async fn $fact() {
                let Some(etcd) = Processes::one() else { return };
                contract::$fact(&etcd.log()).await;
            }
        )*
    };
}

contract::for_each_fact!(test);
