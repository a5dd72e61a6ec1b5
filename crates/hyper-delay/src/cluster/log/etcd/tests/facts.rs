use super::process::Processes;
use crate::cluster::log::facts;

macro_rules! test {
    ($($fact:ident)*) => {
        $(
            #[tokio::test]
            async fn $fact() {
                let etcd = Processes::one();
                facts::$fact(&etcd.log()).await;
            }
        )*
    };
}

facts::for_each_fact!(test);
