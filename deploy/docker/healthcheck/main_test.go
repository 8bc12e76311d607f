package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/-/healthy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	if err := check(server.URL + "/-/healthy"); err != nil {
		t.Error(err)
	}
	if err := check(server.URL + "/sick"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("sick: %v", err)
	}
	server.Close()
	if err := check(server.URL); err == nil {
		t.Error("nobody there, and all is well")
	}
}
