"""RiddleView: which head decides a word of a translation?"""
