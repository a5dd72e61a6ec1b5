# Sourced by the scripts beside it: sets jars to the jars that the client needs, where Debian's packages put them.
jars=""
for name in netty-common netty-buffer netty-resolver netty-transport netty-codec netty-handler \
    jackson-core jackson-databind jackson-annotations lz4-java zstd-jni; do
    jar="/usr/share/java/$name.jar"
    if [ ! -e "$jar" ]; then
        echo "$jar is missing: apt-get install libnetty-java libjackson2-core-java libjackson2-databind-java" \
            "libjackson2-annotations-java liblz4-java libzstd-jni-java" >&2
        exit 1
    fi
    jars="$jars${jars:+:}$jar"
done
