// Package promtest finds, and where need be fetches, a real Prometheus and its
// promtool, and runs Prometheus on loopback for tests and for the demo.
//
// They are looked for in this order:
//
//  1. on PATH;
//  2. in the cache (environment variable KAFKA_STEWARD_CACHE, by default
//     "<user cache directory>/kafka-steward"), where Fetch builds them.
//
// Fetch installs the Debian package "prometheus" when it may (root, apt-get): a
// small download that brings the web page. Elsewhere it builds the Go module of
// Prometheus, pinned in tools/prometheus/go.mod: the download and the build are
// big, and the module holds no web page, only the API.
package promtest
