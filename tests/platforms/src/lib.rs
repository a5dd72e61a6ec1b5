//! Has no code: the tests are those of the workspace.
