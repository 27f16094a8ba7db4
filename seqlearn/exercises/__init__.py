"""What the check cells of the lessons call: one module for each lesson, `lessonNN`."""
