// Package rules holds the recording and alerting rules, and the tests of what
// promtool cannot know: that the series they are made from exist.
package rules
