use super::process::Processes;
use crate::log::facts;

macro_rules! test {
    ($($fact:ident)*) => {
        $(
            #[tokio::test]
            async fn $fact() {
                let Some(etcd) = Processes::one() else { return };
                facts::$fact(&etcd.log()).await;
            }
        )*
    };
}

facts::for_each_fact!(test);
